"""What a stream hears is changed while it is heard, over real sockets to every network: nothing is missed, nothing told twice."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest
from retuning_scene import Act, Outcome, Told, played

from bowerbird.simulated.world.people.vocabulary import TOPICS

_THESE, _THOSE = ["the", "and", "you", "with"], ["que", "para", "con", "uma"]
_FEW = {"one": {"rules": _THESE}, "both": {"rules": [*_THESE, *_THOSE]}, "other": {"rules": _THOSE}}
_WORDS = {"one": {"track": _THESE}, "both": {"track": [*_THESE, *_THOSE]}, "other": {"track": _THOSE}}
_SOME, _MORE = TOPICS[::2], TOPICS[1::2]
_TAGS = {"one": {"tag": _SOME}, "both": {"tag": [*_SOME, *_MORE]}, "other": {"tag": _MORE}}
_POST, _REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
_KINDS = {"one": {"collections": [_POST]}, "both": {"collections": [_POST, _REPOST]}, "other": {"collections": [_REPOST]}}

ACTS = {
    "x": Act(dialect="x", channel="filter", token="app", **_FEW),
    "twitter_v1": Act(dialect="twitter_v1", channel="filter", tokens=2, **_WORDS),
    "twitter_v1 with one token": Act(dialect="twitter_v1", channel="filter", **_WORDS),
    "mastodon": Act(dialect="mastodon", channel="hashtag", pace=2_700, **_TAGS),
    "jetstream": Act(dialect="bluesky", channel="jetstream", **_KINDS),
    "jetstream_v2": Act(dialect="bluesky", channel="jetstream_v2", **_KINDS),
    "firehose": Act(dialect="bluesky", channel="firehose", **_KINDS),
}
MANNERS = {
    "x": "the same connection",
    "twitter_v1": "another connection, both heard for a moment",
    "twitter_v1 with one token": "another connection, both heard for a moment",
    "mastodon": "the same connection",
    "jetstream": "the same connection",
    "jetstream_v2": "another connection",
    "firehose": "the same connection",
}
WITHOUT_LOSS = sorted(ACTS.keys() - {"twitter_v1 with one token"})


def played_together() -> dict[str, Outcome]:
    """Most of the time is waiting, so several acts run beside each other."""

    async def all_of_them() -> list[Outcome]:
        room = asyncio.Semaphore(3)

        async def one(act: Act) -> Outcome:
            async with room:
                return await played(act)

        return await asyncio.gather(*(one(act) for act in ACTS.values()))

    return dict(zip(ACTS, asyncio.run(all_of_them()), strict=True))


def between(told: Told, after: datetime, before: datetime) -> set[str]:
    return {post for post, at in told.posts.items() if after <= at <= before}


def nothing_is_missed_meanwhile(found: Outcome) -> None:
    # One thing until it is no longer asked for, across the first change; the other from then on, across the second.
    one = between(found.one, found.began, found.asked[1] - found.slack)
    other = between(found.other, found.effective[0] + found.slack, found.ended)
    assert len(one) > 5
    assert len(other) > 5
    assert one - found.ear.posts.keys() == set()
    assert other - found.ear.posts.keys() == set()
    assert found.gaps == []


def a_change_takes_effect_and_what_is_no_longer_wanted_is_not_heard(found: Outcome) -> None:
    only_other = found.other.posts.keys() - found.one.posts.keys()
    only_one = found.one.posts.keys() - found.other.posts.keys()
    assert not between(found.ear, found.began, found.asked[0] - found.slack) & only_other
    assert not between(found.ear, found.alone + found.slack, found.ended) & only_one
    assert len(between(found.ear, found.effective[1] + found.slack, found.ended)) > 2


def no_post_is_told_twice(found: Outcome) -> None:
    assert [post for (post, _), times in found.ear.times.items() if times > 1] == []


def the_store_says_what_was_changed_when_by_whom_and_how(found: Outcome, name: str) -> None:
    assert [(row["kind"], row["who"], row["why"], row["manner"]) for row in found.changes] == [
        ("retuned", "test", "something else is wanted", MANNERS[name])
    ] * 2
    assert found.changes[0]["after"] == found.changes[1]["before"]
    assert all(row["at"] <= row["effective_at"] for row in found.changes)
    connections = 1 if MANNERS[name] == "the same connection" else 3
    assert found.connections == connections
    calls = [row["state"] for row in found.calls]
    # Changing the rules of X is a call of its own.
    assert len(calls) == connections + (2 if name == "x" else 0)
    assert sorted(calls) == ["flying", *["settled"] * (len(calls) - 1)]


def what_is_missed_lies_in_a_gap(found: Outcome) -> None:
    """The classic API knows one connection for each account, and ends the old one at once."""
    one = between(found.one, found.began, found.asked[1] - found.slack) - found.ear.posts.keys()
    other = between(found.other, found.effective[0] + found.slack, found.ended) - found.ear.posts.keys()
    assert [gap["cause"] for gap in found.gaps] == ["retune"] * 2
    missed = sorted({**found.one.posts, **found.other.posts}[post].timestamp() * 1e6 for post in one | other)
    assert all(
        any(gap["after_at"] - 60e6 <= at and (gap["before_at"] is None or at <= gap["before_at"] + 60e6) for gap in found.gaps)
        for at in missed
    )


@pytest.mark.long
@pytest.mark.timeout(900)
def test_what_is_heard_can_be_changed_and_nothing_is_missed_or_told_twice(subtests: pytest.Subtests) -> None:
    """One test: the acts take long, and a fixture of the module would be played in every process that has one of its tests."""
    for name, found in played_together().items():
        with subtests.test(name):
            a_change_takes_effect_and_what_is_no_longer_wanted_is_not_heard(found)
            no_post_is_told_twice(found)
            the_store_says_what_was_changed_when_by_whom_and_how(found, name)
            (nothing_is_missed_meanwhile if name in WITHOUT_LOSS else what_is_missed_lies_in_a_gap)(found)
