"""What outcomes and states are called where people read them: one table for every screen."""

from __future__ import annotations

from bowerbird.errors import Failure
from bowerbird.model.kinds import Outcome
from bowerbird.model.work.streams import Notice, NoticeKind

_WORDS = {
    "ok": "answered",
    "bad_token": "refused for want of a good token",
    "forbidden_scope": "refused to this kind of token",
    "not_found": "not there",
    "suspended": "suspended",
    "deactivated": "deactivated",
    "protected": "protected",
    "blocked": "blocked",
    "not_offered": "not offered by the server",
    "unanswered": "without an answer",
    "overloaded": "server in trouble",
    "unreadable": "unreadable",
    "rate_limited": "asked to slow down",
    "second_limit": "asked to slow down for a moment",
    "quota_exhausted": "quota used up",
    "bad_request": "called wrong by the server",
    "fenced": "too late, asked again",
    "unasked": "not sent",
    "fault": "could not be settled",
    "lost": "lost with the process that asked",
    "flying": "under way",
    "outdated": "away for longer than it can replay",
    "future": "its numbering began anew",
    "undelivered": "it held messages back",
    "slow": "we read too slowly",
    "closing": "it ends the connection",
}


def outcome_words(name: str) -> str:
    """What an answer means, in a few words."""
    return _WORDS.get(name, name.replace("_", " "))


def noticed(notice: Notice) -> str:
    """What a service says of its own stream."""
    if notice.kind is NoticeKind.OTHER and notice.detail:
        return notice.detail
    return f"{outcome_words(notice.kind)} ({notice.detail})" if notice.detail else outcome_words(notice.kind)


def told(outcome: Outcome, detail: str) -> str:
    """How a call ended, with what the server or the line said: `refused for want of a good token (401 Unauthorized)`."""
    return f"{outcome_words(outcome)} ({detail})" if detail else outcome_words(outcome)


def quoted(words: str) -> str:
    """A server's own words inside a sentence of ours. What follows a semicolon would read like advice of ours."""
    return words.replace(";", ",")


def retold(failure: Failure) -> str:
    """The same of a stored failure; one that is no outcome of a call stays as it is."""
    is_outcome = failure.code in Outcome.__members__.values()
    return told(Outcome(failure.code), failure.problem) if is_outcome else str(failure)
