"""Saves a page in one transaction, with history and provenance. Who only reads goes through `reports`."""

from __future__ import annotations

from bowerbird.store.errors import record_error
from bowerbird.store.services import register_service
from bowerbird.store.store import Store

__all__ = ["Store", "record_error", "register_service"]
