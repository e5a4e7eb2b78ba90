"""Saves a page in one transaction, with history and provenance. Who only reads goes through `reports`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bowerbird.store.errors import record_error
from bowerbird.store.services import register_service

if TYPE_CHECKING:
    from bowerbird.store.store import Store

__all__ = ["Store", "record_error", "register_service"]


def __getattr__(name: str) -> Any:
    # What writes pages is loaded when somebody does: those who only read know a part of this package too.
    if name == "Store":
        from bowerbird.store.store import Store

        return Store
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
