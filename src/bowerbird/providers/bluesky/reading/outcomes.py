"""How XRPC's status codes and error names read as outcomes."""

from __future__ import annotations

from datetime import timedelta

import msgspec
from msgspec import Struct

from bowerbird.model import Answer, Outcome, Reading
from bowerbird.providers import headers
from bowerbird.providers.headers import unexplained
from bowerbird.providers.items import UNREADABLE, Reader, shortened

_BY_NAME = {
    "RateLimitExceeded": Outcome.RATE_LIMITED,
    "ExpiredToken": Outcome.BAD_TOKEN,
    "InvalidToken": Outcome.BAD_TOKEN,
    "AuthMissing": Outcome.BAD_TOKEN,
    "AuthenticationRequired": Outcome.BAD_TOKEN,
    "AuthFactorTokenRequired": Outcome.BAD_TOKEN,
    "AccountTakedown": Outcome.SUSPENDED,
    "RepoTakendown": Outcome.SUSPENDED,
    "RepoSuspended": Outcome.SUSPENDED,
    "AccountDeactivated": Outcome.DEACTIVATED,
    "RepoDeactivated": Outcome.DEACTIVATED,
    "NotFound": Outcome.NOT_FOUND,
    "RecordNotFound": Outcome.NOT_FOUND,
    "RepoNotFound": Outcome.NOT_FOUND,
    "HandleNotFound": Outcome.NOT_FOUND,
    "BlockedActor": Outcome.BLOCKED,
    "BlockedByActor": Outcome.BLOCKED,
    "Forbidden": Outcome.FORBIDDEN_SCOPE,
    "NotEnoughResources": Outcome.OVERLOADED,
    "UpstreamFailure": Outcome.OVERLOADED,
    "UpstreamTimeout": Outcome.OVERLOADED,
    "InternalServerError": Outcome.OVERLOADED,
    "MethodNotImplemented": Outcome.NOT_OFFERED,
    "XRPCNotSupported": Outcome.NOT_OFFERED,
}
_BY_STATUS = {
    401: Outcome.BAD_TOKEN,
    403: Outcome.FORBIDDEN_SCOPE,
    # Only a proxy answers 404 without an error name: believing it would cost stored content.
    404: Outcome.UNREADABLE,
    405: Outcome.NOT_OFFERED,
    408: Outcome.OVERLOADED,
    429: Outcome.RATE_LIMITED,
}
_MISSING = (
    "profile not found",
    "actor not found",
    "could not find repo",
    "could not find user",
    "could not locate record",
    "list not found",
    "unable to resolve handle",
)
"""How an `InvalidRequest` says that there is no such subject."""
STATUSES = {
    "takendown": Outcome.SUSPENDED,
    "suspended": Outcome.SUSPENDED,
    "deactivated": Outcome.DEACTIVATED,
    "deleted": Outcome.NOT_FOUND,
}
"""Why an account is not active, as hosts and streams say it."""
_CUT_OFF = timedelta(seconds=1)


class _Error(Struct):
    error: str
    message: str = ""


_errors = Reader(_Error)


def outcome(answer: Answer) -> tuple[Outcome, str]:
    """The normalised outcome and the server's own words; a 2xx is ok until its body proves unreadable."""
    if answer.status == 0:
        return answer.silence, shortened(answer.failure)
    if 200 <= answer.status < 300:
        return Outcome.OK, ""
    error = _error(answer.body)
    words = f"{error.error} {error.message}" if error else answer.headers.get("location", "")
    return _of(answer.status, error), shortened(f"{answer.status} {words}")


def said(answer: Answer) -> Reading | None:
    """What the host says of its limit, with an end of the window that has certainly passed by then."""
    reading = headers.reading(answer.headers, "ratelimit")
    if reading is None or reading.reset_at is None:
        return reading
    # xrpc-server cuts the fraction of the second off: a call made at that second may still be refused.
    return msgspec.structs.replace(reading, reset_at=reading.reset_at + _CUT_OFF)


def _of(status: int, error: _Error | None) -> Outcome:
    by_name = _BY_NAME.get(error.error) if error else None
    if status >= 500:
        # A 5xx is the server's own trouble unless it says that it does not know the method.
        return by_name if by_name is Outcome.NOT_OFFERED else Outcome.OVERLOADED
    if by_name is not None:
        return by_name
    if status == 400 and error is not None and error.message.casefold().startswith(_MISSING):
        return Outcome.NOT_FOUND
    return _BY_STATUS.get(status) or unexplained(status)


def _error(body: bytes) -> _Error | None:
    try:
        return _errors.read(body)
    except UNREADABLE:
        return None
