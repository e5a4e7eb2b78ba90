"""How a connection ends: by us, by the service with a word, or without one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.crawl.streaming.waits import Trouble
from bowerbird.model import Ended, Heard, NoticeKind, Outcome
from bowerbird.model.wording import noticed, outcome_words

STOPPED = Ended("asked to stop")
PAUSED = Ended("asked to pause")
RETUNED = Ended("asked to hear something else")
RESET = (
    "the service has never come as far as our cursor: its numbering was reset. The cursor is kept; to hear on from now, give "
    "the stream another name in the crawl file"
)


def parting(heard: Sequence[Heard]) -> Trouble | None:
    """How the service ends the connection, if it says so."""
    notices = [notice for each in heard for notice in each.notices]
    if any(notice.kind is NoticeKind.FUTURE for notice in notices):
        return Trouble(outcome=Outcome.BAD_REQUEST, words=RESET, was_open=True, is_final=True)
    closing = next((each.closing for each in heard if each.closing is not None), None)
    if closing is None:
        return None
    words = "; ".join(noticed(notice) for notice in notices if notice.kind is not NoticeKind.UNDELIVERED)
    return Trouble(outcome=closing, words=words or f"the service ends the connection: {outcome_words(closing)}", was_open=True)


def trouble_of(ended: Ended) -> Trouble:
    words = f"{ended.reason} ({ended.status})" if ended.status else ended.reason
    return Trouble(outcome=Outcome.OK, words=words, was_open=True, is_wanted=ended in (STOPPED, PAUSED, RETUNED))
