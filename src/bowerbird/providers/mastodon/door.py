"""Where this network is knocked at without a credential."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.model import Door


def _is_own(said: Mapping[str, Any], path: str) -> bool:
    if isinstance(said.get("version"), str) and not said.keys().isdisjoint(("uri", "domain", "title")):
        return True
    # A page for people refuses in the same words, where JSON is wanted of it.
    return not path and isinstance(said.get("error"), str) and said.keys() <= {"error", "error_description"}


DOOR = Door("/api/v2/instance", _is_own)
