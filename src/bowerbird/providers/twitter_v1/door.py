"""Where this network is knocked at without a credential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.model import Door


def _is_own(said: Mapping[str, Any], path: str) -> bool:
    return not said.keys().isdisjoint(("errors", "resources"))


DOOR = Door("/1.1/application/rate_limit_status.json", _is_own)
