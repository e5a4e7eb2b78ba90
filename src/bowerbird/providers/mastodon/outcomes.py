"""How a Mastodon server's status codes and error bodies read as outcomes."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.model import Answer, Outcome
from bowerbird.providers.items import UNREADABLE, Reader, shortened

_BY_STATUS = {
    400: Outcome.BAD_REQUEST,
    401: Outcome.BAD_TOKEN,
    403: Outcome.FORBIDDEN_SCOPE,
    404: Outcome.NOT_FOUND,
    408: Outcome.OVERLOADED,
    410: Outcome.SUSPENDED,
    429: Outcome.RATE_LIMITED,
}


class _Error(Struct):
    error: str


_errors = Reader(_Error)


def outcome(answer: Answer) -> tuple[Outcome, str]:
    """The normalised outcome and the server's own words; a 2xx is ok until its body proves unreadable."""
    if answer.status == 0:
        return Outcome.UNANSWERED, shortened(answer.failure)
    if 200 <= answer.status < 300:
        return Outcome.OK, ""
    words = _words(answer.body)
    detail = shortened(f"{answer.status} {words or answer.headers.get('location', '')}")
    return _of(answer.status, words), detail


def _of(status: int, words: str | None) -> Outcome:
    if status in (401, 403, 404, 410) and words is None:
        # A proxy's page knows neither accounts nor tokens, and believing it would cost stored content or a good credential.
        return Outcome.UNREADABLE
    if status == 422:
        return Outcome.FORBIDDEN_SCOPE if "authenticated" in (words or "") else Outcome.BAD_REQUEST
    if status >= 500:
        return Outcome.OVERLOADED
    return _BY_STATUS.get(status, Outcome.BAD_REQUEST)


def _words(body: bytes) -> str | None:
    try:
        return _errors.read(body).error
    except UNREADABLE:
        return None
