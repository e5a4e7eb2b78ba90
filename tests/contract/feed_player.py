"""Plays a simulated connection without a clock: asks it whenever it wants to be asked."""

from __future__ import annotations

from datetime import datetime

from bowerbird.simulated.feeds import Feed, Sent
from bowerbird.simulated.wire import Reply


def opened(answer: Feed | Reply | None) -> Feed:
    """The connection that must have come."""
    assert answer is not None
    assert not isinstance(answer, Reply), answer.body
    return answer


def play(feed: Feed, start: datetime, until: datetime) -> list[tuple[datetime, bytes]]:
    """Every frame with the time it was sent at, until then or until the service ends the connection."""
    heard, now = list[tuple[datetime, bytes]](), start
    while now <= until:
        sent = feed.due(now)
        heard += [(now, frame) for frame in sent.frames]
        if sent.close is not None:
            break
        assert sent.again_at is not None
        assert sent.again_at > now
        now = sent.again_at
    return heard


def ending(feed: Feed, now: datetime) -> Sent:
    sent = feed.due(now)
    assert sent.close is not None
    return sent
