"""How statuses, problem bodies and `errors[]` read as outcomes."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.model import Answer, Outcome, Subject
from bowerbird.providers.headers import unexplained
from bowerbird.providers.items import UNREADABLE, Reader, shortened
from bowerbird.providers.page import check_values

_BY_STATUS = {
    401: Outcome.BAD_TOKEN,
    402: Outcome.QUOTA_EXHAUSTED,
    403: Outcome.FORBIDDEN_SCOPE,
    # Without a problem of its own a 404 may be a proxy's: believing it would cost stored content.
    404: Outcome.UNREADABLE,
    408: Outcome.OVERLOADED,
    420: Outcome.RATE_LIMITED,
    429: Outcome.RATE_LIMITED,
}
_BY_KIND = {
    "not-authorized-for-resource": Outcome.PROTECTED,
    "disallowed-resource": Outcome.BLOCKED,
    "resource-unavailable": Outcome.OVERLOADED,
    "internal-error": Outcome.OVERLOADED,
}
_OTHER_KIND = "unsupported-authentication"
_MOST_VALUES = 10_000
"""Of a refusal, which says little."""
_SUBJECTS = {"user": Subject.USER, "tweet": Subject.POST, "post": Subject.POST}


class Problem(Struct):
    """A problem object, for a whole call or for one resource of it."""

    title: str = ""
    detail: str = ""
    type: str = ""
    resource_type: str = ""
    resource_id: Any = None
    value: Any = None
    parameter: str = ""
    message: str = ""

    @property
    def kind(self) -> str:
        """The last part of the type's address; its host is one of two names."""
        return self.type.rstrip("/").rpartition("/")[2]

    @property
    def subject(self) -> Subject | None:
        return _SUBJECTS.get(self.resource_type)

    @property
    def names(self) -> frozenset[str]:
        """What the problem is about: an id, or a handle in lower case."""
        named = (str(each).casefold() for each in (self.resource_id, self.value) if isinstance(each, str | int))
        return frozenset(filter(None, named))

    @property
    def reason(self) -> Outcome | None:
        """What it says of its resource; None for problems with single fields."""
        if self.kind == "resource-not-found":
            is_suspended = self.title == "Forbidden" or "suspended" in self.detail
            return Outcome.SUSPENDED if is_suspended else Outcome.NOT_FOUND
        return _BY_KIND.get(self.kind)

    @property
    def words(self) -> str:
        return self.detail or self.message or self.title


class _Refusal(Problem):
    errors: Any = None
    reason_given: str = msgspec.field(default="", name="reason")
    error: str = ""


_refusals = Reader(_Refusal)
_problems = Reader(Problem)


def problem(raw: bytes) -> Problem:
    """One entry of `errors[]`; an unreadable one says nothing."""
    try:
        return _problems.read(raw)
    except UNREADABLE:
        return Problem()


def verdict(answer: Answer, remaining: int | None) -> tuple[Outcome, str]:
    """The outcome of a call with the service's own words; a 2xx is ok until its body proves otherwise."""
    if answer.status == 0:
        return answer.silence, shortened(answer.failure)
    if 200 <= answer.status < 300:
        return Outcome.OK, ""
    said = _refusal(answer.body)
    words = said.words or said.error or _first_message(said.errors) or answer.headers.get("location", "")
    return _of(answer.status, said, remaining), shortened(f"{answer.status} {said.title} {said.reason_given} {words}")


def trial(answer: Answer) -> tuple[Outcome, str]:
    """What an answer says of the credential that was tried: who may not ask this, for want of access, may ask other things."""
    outcome, words = verdict(answer, None)
    is_other_kind = _refusal(answer.body).kind == _OTHER_KIND
    return (Outcome.NOT_OFFERED if outcome is Outcome.FORBIDDEN_SCOPE and not is_other_kind else outcome), words


def _of(status: int, said: _Refusal, remaining: int | None) -> Outcome:
    if status >= 500:
        return Outcome.OVERLOADED
    if said.kind in ("usage-capped", "credits") or said.title in ("UsageCapExceeded", "CreditsDepleted"):
        return Outcome.QUOTA_EXHAUSTED
    if status == 429 and said.kind != "streaming-connection" and remaining:
        return Outcome.SECOND_LIMIT
    if status in (403, 404) and said.reason is not None:
        return said.reason
    return _BY_STATUS.get(status) or unexplained(status)


def _refusal(body: bytes) -> _Refusal:
    try:
        check_values(body, _MOST_VALUES)
        return _refusals.read(body)
    except UNREADABLE:
        return _Refusal()


def _first_message(errors: Any) -> str:
    """The first of the messages beside the problem: a wrong parameter, or the classic API's own form."""
    first = errors[0] if isinstance(errors, list) and errors else None
    message = first.get("message") or first.get("detail") if isinstance(first, dict) else None
    return message if isinstance(message, str) else ""
