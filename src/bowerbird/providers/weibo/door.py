"""Where this network is knocked at without a credential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.model import Door


def _is_own(said: Mapping[str, Any], path: str) -> bool:
    return not said.keys().isdisjoint(("error_code", "ip_limit", "user_limit"))


DOOR = Door("/2/account/rate_limit_status.json", _is_own)
