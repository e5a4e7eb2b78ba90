"""How the classic API's status codes and error numbers read as outcomes."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.model import Answer, Outcome
from bowerbird.providers.headers import unexplained
from bowerbird.providers.items import UNREADABLE, Reader, shortened
from bowerbird.providers.page import check_values

UNKNOWN_PATH = 34
"""The code of a list that is not there, and of a route that is not there."""
_BY_CODE = {
    17: Outcome.NOT_FOUND,
    25: Outcome.BAD_REQUEST,
    32: Outcome.BAD_TOKEN,
    UNKNOWN_PATH: Outcome.NOT_FOUND,
    50: Outcome.NOT_FOUND,
    63: Outcome.SUSPENDED,
    64: Outcome.BAD_TOKEN,
    88: Outcome.RATE_LIMITED,
    89: Outcome.BAD_TOKEN,
    130: Outcome.OVERLOADED,
    131: Outcome.OVERLOADED,
    135: Outcome.BAD_TOKEN,
    136: Outcome.BLOCKED,
    144: Outcome.NOT_FOUND,
    179: Outcome.PROTECTED,
    195: Outcome.BAD_REQUEST,
    215: Outcome.BAD_TOKEN,
    220: Outcome.FORBIDDEN_SCOPE,
    251: Outcome.NOT_OFFERED,
    326: Outcome.BAD_TOKEN,
    421: Outcome.NOT_FOUND,
    422: Outcome.NOT_FOUND,
    453: Outcome.FORBIDDEN_SCOPE,
}
_BY_STATUS = {
    # Without a code of its own such an answer may be a proxy's: believing it would cost stored content or a good token.
    401: Outcome.UNREADABLE,
    403: Outcome.UNREADABLE,
    404: Outcome.UNREADABLE,
    408: Outcome.OVERLOADED,
    410: Outcome.NOT_OFFERED,
    420: Outcome.RATE_LIMITED,
    429: Outcome.RATE_LIMITED,
}
_MOST_VALUES = 10_000
"""Of a refusal, which says little."""
NONE_MATCHES = 17
"""The code that says of a whole batch that none of it exists."""


class _Entry(Struct, gc=False):
    code: int = 0
    message: str = ""


class _Errors(Struct):
    errors: list[_Entry] = []
    error: str = ""


class Verdict(Struct, frozen=True):
    outcome: Outcome
    code: int = 0
    detail: str = ""


_bodies = Reader(_Errors)


def verdict(answer: Answer) -> Verdict:
    """The normalised outcome; a 2xx is ok until its body proves unreadable."""
    if answer.status == 0:
        return Verdict(answer.silence, detail=shortened(answer.failure))
    if 200 <= answer.status < 300:
        return Verdict(Outcome.OK)
    body = _body(answer.body)
    entry = body.errors[0] if body.errors else _Entry(message=body.error)
    words = entry.message or answer.headers.get("location", "")
    return Verdict(_of(answer.status, entry, body.error), entry.code, shortened(f"{answer.status} {entry.code or ''} {words}"))


def _of(status: int, entry: _Entry, bare: str) -> Outcome:
    if status >= 500:
        return Outcome.OVERLOADED
    if status == 401 and bare.startswith("Not authorized"):
        return Outcome.PROTECTED
    return _BY_CODE.get(entry.code) or _BY_STATUS.get(status) or unexplained(status)


def _body(body: bytes) -> _Errors:
    try:
        check_values(body, _MOST_VALUES)
        return _bodies.read(body)
    except UNREADABLE:
        return _Errors()
