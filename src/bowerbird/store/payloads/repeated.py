"""What a payload repeats of the columns of its post: left out of the frame, and put back when the payload is read. Pure.

A payload has the text of its post and the names of the posts it refers to once more. In a frame a mark stands for each of them, a
byte that no JSON has. Whoever changes one of these columns therefore writes the payload anew, or takes it out of its frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter

import msgspec

from bowerbird.ports import Row
from bowerbird.store.fields import POST_FIELDS, Values
from bowerbird.store.people.names import PROVISIONAL

Repeated = Sequence[str | None]
"""The columns of one post that its payload may repeat, in the order of `REPEATED`."""
REPEATED = ("id", "text", "url", "reply_to", "root", "repost_of", "quote_of")
BEGIN = b"\0"
"""Begins a payload in which marks stand."""
_MARKS = tuple(bytes([number]) for number in range(1, len(REPEATED) + 1))
_RESERVED = (BEGIN, *_MARKS)
_MARK = re.compile(b"[%s]" % b"".join(_MARKS))
_SHORTEST = 8
"""Characters: of less nothing is gained."""
_encode = msgspec.json.Encoder().encode
_of_values = itemgetter(*(POST_FIELDS.index(name) for name in REPEATED[1:]))
columns_of: Callable[[Row], Repeated] = itemgetter(*REPEATED)
"""The columns of a stored post."""


def columns_from(id_: str, values: Values) -> Repeated:
    """The columns of a post that is being stored."""
    return (id_, *_of_values(values))


def without_repeated(payload: bytes, columns: Repeated) -> bytes:
    """The payload as a frame keeps it; `with_repeated` gives exactly the same back for the same columns."""
    return payload if _has_marks(payload) else _marked(payload, columns)


def all_without_repeated(payloads: Sequence[bytes], columns: Sequence[Repeated]) -> list[bytes]:
    """The same for many: they are looked at together, because what a server sends has no marks."""
    keeps = without_repeated if _has_marks(b"".join(payloads)) else _marked
    return list(map(keeps, payloads, columns))


def _has_marks(payload: bytes) -> bool:
    return any(mark in payload for mark in _RESERVED)


def _marked(payload: bytes, columns: Repeated) -> bytes:
    """Each column stands for the first place where it is found; that others are left makes no payload larger."""
    short = payload
    for mark, value in zip(_MARKS, columns, strict=True):
        # The name of a post that nobody has seen yet changes once it is seen.
        if value is not None and len(value) >= _SHORTEST and not value.startswith(PROVISIONAL):
            short = short.replace(_encode(value)[1:-1], mark, 1)
    return BEGIN + short if len(short) != len(payload) else payload


def with_repeated(kept: bytes, columns: Repeated) -> bytes:
    """The payload as it came; nothing where a column is empty that it needs."""
    if not kept.startswith(BEGIN):
        return kept
    stand_for = {mark: value for mark, value in zip(_MARKS, columns, strict=True) if value}
    if not stand_for.keys() >= set(_MARK.findall(kept)):
        return b""
    return _MARK.sub(lambda found: _spelled(stand_for[found[0]]), kept[1:])


def _spelled(value: str) -> bytes:
    """As JSON has it, between its quotes."""
    return _encode(value)[1:-1]
