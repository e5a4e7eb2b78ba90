"""Shares of posts that a crawl has stored."""

from __future__ import annotations

import pytest

from bowerbird.analysis.agreement import wilson_interval
from bowerbird.analysis.capture_rate import AccountPosts, capture_rates


def test_capture_rates_equal_accounts_have_the_interval_of_their_share() -> None:
    every = capture_rates([AccountPosts(2, 1, 10.0)] * 5)[0]
    low, high = wilson_interval(0.5, 5)
    assert (every.posts.share, every.posts.low, every.posts.high) == pytest.approx((0.5, low, high), abs=1e-4)
    assert low + high == pytest.approx(1.0)


def test_capture_rates_more_stored_than_counted_is_all() -> None:
    every = capture_rates([AccountPosts(2, 3, 10.0)] * 5)[0]
    assert (every.posts.share, every.lost) == (1.0, 0)
