"""Which fields a second reading of a payload may change."""

from __future__ import annotations

from datetime import UTC, datetime

from bowerbird.model import Poll, PollOption, Post
from bowerbird.store.fields import post_values
from bowerbird.store.remapping.deciding import change_of_post


def post(votes: int | None) -> Post:
    poll = None if votes is None else Poll(options=(PollOption("yes", votes),))
    return Post(id="x:1", key="1", author="x:2", text="Well?", created_at=datetime(2026, 1, 5, tzinfo=UTC), poll=poll)


def test_a_poll_is_filled_in_where_there_is_none_and_its_votes_stay() -> None:
    change = change_of_post(post_values(post(None)), post_values(post(3)))
    assert change is not None
    assert set(change) == {"poll"}
    assert '"yes"' in change["poll"]
    assert change_of_post(post_values(post(9)), post_values(post(3))) == {}
