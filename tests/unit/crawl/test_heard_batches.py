"""A batch of messages that is understood piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bowerbird.crawl.streaming.batches import HeardBatch
from bowerbird.crawl.streaming.buffer import Batch
from bowerbird.model import Heard, Outcome

_MANY = 6_000


class Listener:
    """Counts messages; one of them says that the service is about to hang up."""

    def hear(self, messages: Sequence[bytes]) -> Heard:
        return Heard(events=len(messages), closing=Outcome.OVERLOADED if b"bye" in messages else None)


@pytest.mark.parametrize(("has_cursor", "heard"), [(False, _MANY), (True, 2_500)])
def test_what_is_said_after_a_farewell_is_heard_unless_it_comes_again(has_cursor: bool, heard: int) -> None:
    stream: Any = SimpleNamespace(
        pace=SimpleNamespace(heard=lambda events, at: None), channel=SimpleNamespace(has_cursor=has_cursor)
    )
    messages = [b"bye" if number == 10 else b"event" for number in range(_MANY)]
    listener: Any = Listener()
    batch = HeardBatch(stream, listener, Batch(messages, 0, datetime(2026, 1, 1, tzinfo=UTC)))
    number = 0
    while batch.piece(number) is not None:
        number += 1
    assert sum(each.events for each in batch.heard) == heard
