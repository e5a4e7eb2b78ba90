"""Stored payloads read again: what today's parsers of a network make of one item without the page it came in."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from bowerbird.model import TRAITS, KeptItem, Post, Subject, User
from bowerbird.providers.common.reading.items import UNREADABLE


def read_again(kept: KeptItem) -> User | Post | None:
    """The item; None where no parser of its network reads the payload as this one. What a page told beside it is not there."""
    for name in [provider for provider, traits in TRAITS.items() if traits.network.name == kept.network]:
        module = f"bowerbird.providers.{name}.reading.stored"
        if find_spec(module.rpartition(".")[0]) is None or find_spec(module) is None:
            continue
        mapping = import_module(module)
        try:
            item: User | Post | None = (mapping.stored_user if kept.subject is Subject.USER else mapping.stored_post)(kept)
        except UNREADABLE:
            continue
        if item is not None and item.id == kept.id:
            return item
    return None
