"""Saves a page in one transaction, with history and provenance; `Reader` serves everyone who only reads."""

from __future__ import annotations

from bowerbird.store.log import record_error
from bowerbird.store.reader import Reader
from bowerbird.store.services import register_service
from bowerbird.store.store import Store

__all__ = ["Reader", "Store", "record_error", "register_service"]
