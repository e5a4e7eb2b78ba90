"""How Weibo's error codes read as outcomes: always by the code in the body, for its HTTP statuses are not to be relied on."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.model import Answer, Outcome
from bowerbird.providers.headers import unexplained
from bowerbird.providers.items import UNREADABLE, Reader, shortened

ADDRESS_LIMIT, USER_LIMIT, SPECIAL_LIMIT = 10022, 10023, 10024

_BY_CODE = {
    **dict.fromkeys((10001, 10002, 10003, 10009, 10010, 10011), Outcome.OVERLOADED),
    **dict.fromkeys((10004, 10005, 10014, 21335), Outcome.FORBIDDEN_SCOPE),
    # There is no such interface, or not for reading.
    **dict.fromkeys((10020, 10021), Outcome.NOT_OFFERED),
    **dict.fromkeys((10006, 21301, 21314, 21315, 21316, 21317, 21319, 21327, 21332), Outcome.BAD_TOKEN),
    **dict.fromkeys((ADDRESS_LIMIT, USER_LIMIT, SPECIAL_LIMIT), Outcome.RATE_LIMITED),
    # Signs of being taken for a robot: the address, or the account, must calm down.
    **dict.fromkeys((20016, 20022, 20031), Outcome.RATE_LIMITED),
    **dict.fromkeys((20003, 20101, 20201, 40023), Outcome.NOT_FOUND),
    **dict.fromkeys((20112, 20508), Outcome.PROTECTED),
}
"""Other codes are a request that cannot be answered: bad parameters, or data of somebody else than the token's own user."""

_BY_STATUS = {
    401: Outcome.BAD_TOKEN,
    403: Outcome.FORBIDDEN_SCOPE,
    # Without a code of its own a 404 may be a proxy's: believing it would cost stored content.
    404: Outcome.UNREADABLE,
    408: Outcome.OVERLOADED,
    429: Outcome.RATE_LIMITED,
}


class _Error(Struct):
    error_code: int = 0
    error: str = ""


class Verdict(Struct, frozen=True):
    outcome: Outcome
    code: int = 0
    detail: str = ""


_errors = Reader(_Error)


def verdict(answer: Answer) -> Verdict:
    """The normalised outcome; a 2xx without an error code is ok until its body proves unreadable."""
    if answer.status == 0:
        return Verdict(answer.silence, detail=shortened(answer.failure))
    is_good = 200 <= answer.status < 300
    if is_good and b'"error_code"' not in answer.body:
        return Verdict(Outcome.OK)
    error = _error(answer.body)
    if is_good and not error.error_code:
        return Verdict(Outcome.OK)
    words = error.error or answer.headers.get("location", "")
    return Verdict(_of(answer.status, error), error.error_code, shortened(f"{answer.status} {error.error_code or ''} {words}"))


def _of(status: int, error: _Error) -> Outcome:
    if error.error_code == SPECIAL_LIMIT and "day" in error.error.lower():
        return Outcome.QUOTA_EXHAUSTED
    if error.error_code:
        return _BY_CODE.get(error.error_code, Outcome.BAD_REQUEST)
    return _BY_STATUS.get(status) or unexplained(status)


def _error(body: bytes) -> _Error:
    try:
        return _errors.read(body)
    except UNREADABLE:
        return _Error()
