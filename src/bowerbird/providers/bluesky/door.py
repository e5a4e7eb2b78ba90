"""Where this network is knocked at without a credential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.model import Door


def _is_own(said: Mapping[str, Any], path: str) -> bool:
    return "version" in said or {"error", "message"} <= said.keys()


DOOR = Door("/xrpc/_health", _is_own)
