"""Where this network is knocked at without a credential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.model import Door


def _is_own(said: Mapping[str, Any], path: str) -> bool:
    return not said.keys().isdisjoint(("openapi", "title", "errors"))


DOOR = Door("/2/openapi.json", _is_own)
