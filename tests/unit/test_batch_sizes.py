"""How many messages of a backlog are saved in one transaction."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bowerbird.crawl.streaming.batches import FEWEST_AT_ONCE, MOST_AT_ONCE, fitting

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("messages", "took", "next_time"),
    [
        (20_000, SECOND, MOST_AT_ONCE),
        (20_000, 4 * SECOND, 25_000),
        (40_000, 10 * SECOND, FEWEST_AT_ONCE),
        (1, timedelta(milliseconds=10), FEWEST_AT_ONCE),
        (20_000, timedelta(0), MOST_AT_ONCE),
    ],
)
def test_a_transaction_has_as_many_messages_as_are_saved_within_seconds(messages: int, took: timedelta, next_time: int) -> None:
    assert fitting(messages, took) == next_time
