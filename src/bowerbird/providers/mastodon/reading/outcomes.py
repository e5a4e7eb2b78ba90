"""How a Mastodon server's status codes and error bodies read as outcomes.

Compatible servers answer alike but not the same: `providers/mastodon/flavours.py` has what is known of each kind.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bowerbird.model import Answer, Outcome
from bowerbird.providers.common.reading import headers
from bowerbird.providers.common.reading.items import UNREADABLE, Reader, shortened
from bowerbird.providers.common.reading.statuses import unexplained

_BY_STATUS = {
    400: Outcome.BAD_REQUEST,
    401: Outcome.BAD_TOKEN,
    403: Outcome.FORBIDDEN_SCOPE,
    404: Outcome.NOT_FOUND,
    405: Outcome.NOT_OFFERED,
    408: Outcome.OVERLOADED,
    410: Outcome.SUSPENDED,
    429: Outcome.RATE_LIMITED,
    501: Outcome.NOT_OFFERED,
}
_MISSING_ROUTE = ("not implemented", "no route matches")
"""What Pleroma and others say with a 404 of a route they do not have."""
_REFUSED_TOKEN = ("invalid credentials", "invalid bearer token", "access token is invalid", "login is currently disabled")
"""What servers say of a token with other statuses than 401: Pleroma 403, Takahē 400."""
_NEEDS_USER = ("authenticated user", "identity_token_required", "identity token required")
_NO_RECORD = frozenset({"record not found", "can't find user"})
"""What software says of a record that it does not have: Mastodon, Pleroma and their kin, Friendica, Iceshrimp."""
_PLAIN = {404: ("not found", frozenset({"gotosocial"})), 410: ("gone", frozenset({"mastodon"}))}
"""By status: bare words that many servers and gateways use, and the software that means a record by them, alone in the answer."""
_LONGEST_TEXT = 200


class _Error(Struct):
    error: str


_errors = Reader(_Error)
_objects = Reader(dict[str, Any])


def outcome(answer: Answer) -> tuple[Outcome, str]:
    """The normalised outcome and the server's own words; a 2xx is ok until its body proves unreadable."""
    if answer.status == 0:
        return answer.silence, shortened(answer.failure)
    if 200 <= answer.status < 300:
        return Outcome.OK, ""
    words = words_of(answer)
    detail = shortened(f"{answer.status} {words or answer.headers.get('location', '')}")
    return _of(answer.status, words), detail


def perhaps(answer: Answer) -> Outcome | None:
    """What an answer that nobody signed (a page of HTML) would mean if it were the API's: that the object is not there."""
    return _BY_STATUS[answer.status] if answer.status in _PLAIN else None


def names_absence(answer: Answer, software: str) -> bool:
    """Whether a 404 or 410 speaks of a record, in the words that the server's software has for it; other software at the same
    address, or a gateway before it, says `Not Found` of anything."""
    said = (words_of(answer) or "").casefold()
    if answer.status == 404 and said in _NO_RECORD:
        return True
    words, speakers = _PLAIN.get(answer.status, ("", frozenset()))
    is_meant = software in speakers or (answer.status == 404 and _is_counted(answer))
    return is_meant and said == words and _is_alone(answer)


def _is_counted(answer: Answer) -> bool:
    """Whether one of Mastodon's controllers spoke: they alone add the caller's limit, whose reset they write as a date. What it
    says of a route that it does not have, and what a gateway says, comes without."""
    said = headers.reading(answer.headers, "x-ratelimit")
    return said is not None and None not in (said.limit, said.remaining) and "T" in answer.headers.get("x-ratelimit-reset", "")


def _is_alone(answer: Answer) -> bool:
    try:
        return len(_objects.read(answer.body)) == 1
    except UNREADABLE:
        return False


def is_missing_route(answer: Answer) -> bool:
    """Whether Mastodon says of the route that it is missing. Of a record it says `Record not found`, in newer
    releases of posts `Not Found` too; but then the call was counted."""
    return answer.status == 404 and (words_of(answer) or "").casefold() == "not found" and not _is_counted(answer)


def _of(status: int, words: str | None) -> Outcome:
    if status in (401, 403, 404, 410) and words is None:
        # A proxy's page knows neither accounts nor tokens, and believing it would cost stored content or a good credential.
        return Outcome.UNREADABLE
    said = (words or "").casefold()
    if status in (400, 401, 403, 422):
        return _about_us(status, said)
    if status == 404 and said.startswith(_MISSING_ROUTE):
        return Outcome.NOT_OFFERED
    return _BY_STATUS.get(status) or unexplained(status)


def _about_us(status: int, said: str) -> Outcome:
    """Refusals of whoever asks; servers do not agree on their statuses, but on their words."""
    if any(words in said for words in _REFUSED_TOKEN):
        return Outcome.BAD_TOKEN
    if status != 401 and any(words in said for words in _NEEDS_USER):
        return Outcome.FORBIDDEN_SCOPE
    if status == 403 and "suspended" in said:
        return Outcome.SUSPENDED
    return _BY_STATUS.get(status, Outcome.BAD_REQUEST)


def words_of(answer: Answer) -> str | None:
    """The server's own words: of its JSON, of the header that Mastodon's streams use, or bare text; None for a page of HTML."""
    try:
        return _errors.read(answer.body).error
    except UNREADABLE:
        pass
    if said := answer.headers.get("x-error-message", "").strip():
        return said
    text = answer.body[:_LONGEST_TEXT].decode(errors="replace").strip()
    # Bare text, whatever it is called (Django calls it HTML). A proxy sends some too; but of tokens only the API can speak.
    return text if "<" not in text and "token" in text.casefold() else None
