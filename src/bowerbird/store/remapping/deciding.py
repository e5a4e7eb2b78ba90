"""Which fields of a row the payload that is kept with it may change, when it is read by later parsers. Pure.

A payload is that of the last sighting that changed its row. Counters, times, names, wishes and references move without it, or
depend on the page that it came in: they stay. So does a place, which its author may have withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bowerbird.store.fields import OPTS_OUT, POST_FIELDS, USER_FIELDS, Values, is_older, merged, merged_post

POST_REMAPPED = ("text", "language", "url", "source", "warning", "is_sensitive", "links", "labels", "is_cut")
POST_FILLED = ("poll",)
"""Only where the row has none: later sightings bring newer votes."""
POST_WRITTEN = (*POST_REMAPPED, *POST_FILLED)
USER_REMAPPED = (
    "name", "description", "location", "url", "language", "avatar", "gender", "time_zone", "created_at", "is_bot", "is_verified",
    "labels",
)  # fmt: skip
Change = dict[str, Any]
"""Fields with the values that they get."""


def change_of_post(old: Values, read: Values) -> Change | None:
    """What the payload says otherwise than the columns of its post; None when it is of an older version of it."""
    if is_older(old, read):
        return None
    missing = tuple(name for name in POST_FILLED if old[POST_FIELDS.index(name)] is None)
    return _changed(POST_FIELDS, (*POST_REMAPPED, *missing), old, merged_post(old, read))


def change_of_user(old: Values, read: Values) -> Change | None:
    """The same of a profile; None when today's parsers see in it that its owner wants to be left alone: the next visit decides
    about that, and until then nothing more of it is read."""
    if read[OPTS_OUT]:
        return None
    return _changed(USER_FIELDS, USER_REMAPPED, old, merged(old, read))


def is_outdated(change: Change, history: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the payload says what the row said before one of its changes: it is older than the row. `history`: the fields of
    each change as they were before."""
    return any(name in before and before[name] == value for before in history for name, value in change.items())


def _changed(fields: tuple[str, ...], remapped: tuple[str, ...], old: Values, new: Values) -> Change:
    pairs = zip(fields, old, new, strict=True)
    return {name: now for name, was, now in pairs if was != now and name in remapped}
