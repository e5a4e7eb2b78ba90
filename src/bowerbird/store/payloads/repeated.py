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
_ASKED, _ENOUGH = 64, 16
"""Payloads of a large page that are asked whether they repeat a column at all, and how many of them must have it for that."""
_encode = msgspec.json.Encoder().encode
_of_values = itemgetter(*(POST_FIELDS.index(name) for name in REPEATED[1:]))
columns_of: Callable[[Row], Repeated] = itemgetter(*REPEATED)
"""The columns of a stored post."""


def columns_from(id_: str, values: Values) -> Repeated:
    """The columns of a post that is being stored."""
    return (id_, *_of_values(values))


def without_repeated(payload: bytes, columns: Repeated) -> bytes:
    """The payload as a frame keeps it; `with_repeated` gives exactly the same back for the same columns."""
    return payload if _has_marks(payload) else _marked([payload], [columns])[0]


def all_without_repeated(payloads: Sequence[bytes], columns: Sequence[Repeated]) -> list[bytes]:
    """The same for many: they are looked at together, because what a server sends has no marks."""
    if _has_marks(b"".join(payloads)):
        return list(map(without_repeated, payloads, columns))
    return _marked(payloads, columns)


def _has_marks(payload: bytes) -> bool:
    return any(mark in payload for mark in _RESERVED)


def _marked(payloads: Sequence[bytes], columns: Sequence[Repeated]) -> list[bytes]:
    """Each column stands for the first place where it is found; that others are left makes no payload larger."""
    short: Sequence[bytes] = payloads
    for mark, column in zip(_MARKS, zip(*columns, strict=True), strict=False):
        # Most columns are empty in all posts of a page.
        if any(column) and (len(column) <= 4 * _ASKED or _is_repeated(short, column)):
            short = _cut(short, column, mark)
    return [kept if len(kept) == len(payload) else BEGIN + kept for kept, payload in zip(short, payloads, strict=True)]


def _is_repeated(payloads: Sequence[bytes], column: Sequence[str | None]) -> bool:
    """Whether some payload repeats the column. Records of Bluesky never have their own names, and to search all of them for it
    takes longer than all other columns."""
    step = len(column) // _ASKED
    asked, values = list(payloads[::step]), column[::step]
    searched = sum(len(value or "") >= _SHORTEST for value in values)
    return searched < _ENOUGH or _cut(asked, values, b"") != asked


def _cut(payloads: Sequence[bytes], column: Sequence[str | None], mark: bytes) -> list[bytes]:
    # The name of a post that nobody has seen yet changes once it is seen.
    return [
        payload
        if value is None or len(value) < _SHORTEST or value.startswith(PROVISIONAL)
        # Not `replace`, which searches twice: it counts first.
        else mark.join(payload.split(_encode(value)[1:-1], 1))
        for payload, value in zip(payloads, column, strict=True)
    ]


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
