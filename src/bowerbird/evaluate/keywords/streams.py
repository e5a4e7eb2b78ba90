"""A recorded or made-up stream of posts, what a search would have found in it at any moment, and what is true of each post."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from zlib import crc32

from msgspec import Struct

from bowerbird.model.terms import Reading, read_text
from bowerbird.policies.keywords.counting import Sampled, terms_of


class StreamPost(Struct, frozen=True, gc=False):
    """One post and whether it belongs to the event."""

    key: str
    at: datetime
    text: str
    is_event: bool


class Surroundings(Struct, frozen=True, kw_only=True):
    """What the sample of a network shows besides an event, where that was recorded by its keywords and is most of the recording:
    the recording with as much of the event as a network has, or posts from elsewhere."""

    event_share: float | None = None
    """Of the sample; None: as large as in the recording."""
    elsewhere: Sequence[Reading] = ()


class EventStream:
    """Posts in the order of their times."""

    def __init__(self, name: str, posts: Sequence[StreamPost], seeds: Sequence[str], around: Surroundings | None = None) -> None:
        self.name, self.seeds = name, tuple(seeds)
        self.posts = sorted(posts, key=lambda post: (post.at, post.key))
        self.times = [post.at for post in self.posts]
        self.readings: list[Reading] = [read_text(post.text) for post in self.posts]
        self._around = around or Surroundings()

    def background(self, numbers: range, share: float) -> list[Reading]:
        """A sample of what is written while these posts are, as the network would show it."""
        if elsewhere := self._around.elsewhere:
            first, last = (int(number * share) for number in (numbers.start, numbers.stop))
            return [elsewhere[number % len(elsewhere)] for number in range(first, last)]
        return [self.readings[number] for number in numbers if self._is_sampled(self.posts[number], share)]

    def _is_sampled(self, post: StreamPost, share: float) -> bool:
        return chance(post.key, "background") < (share * self._event_kept if post.is_event else share)

    @cached_property
    def _event_kept(self) -> float:
        """The part of the event's posts with which it has its share of the sample."""
        wanted, others = self._around.event_share, len(self.posts) - self.event_size
        if wanted is None or not self.event_size:
            return 1.0
        return min(1.0, wanted / (1 - wanted) * others / self.event_size)

    @property
    def began(self) -> datetime:
        return self.times[0]

    @property
    def length(self) -> timedelta:
        return self.times[-1] - self.times[0]

    @cached_property
    def event_size(self) -> int:
        return sum(post.is_event for post in self.posts)

    def between(self, since: datetime, until: datetime) -> range:
        """The numbers of the posts from one moment to just before another."""
        return range(
            bisect_right(self.times, since - timedelta(microseconds=1)),
            bisect_right(self.times, until - timedelta(microseconds=1)),
        )

    def search(self, term: str, before: datetime, most: int) -> list[Sampled]:
        """The newest posts with a term that were written before a moment: a search of then cannot show what came later."""
        found = self._postings.get(term, [])
        if term[0] not in "#@" and " " not in term and (tagged := self._postings.get("#" + term)):
            found = sorted({*found, *tagged})
        end = bisect_right(found, bisect_right(self.times, before - timedelta(microseconds=1)) - 1)
        return [Sampled(self.posts[number].text, self.posts[number].at) for number in found[max(0, end - most) : end]]

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        postings: defaultdict[str, list[int]] = defaultdict(list)
        for number, reading in enumerate(self.readings):
            for term in terms_of(reading):
                postings[term].append(number)
        return dict(postings)


def chance(key: str, salt: str = "") -> float:
    """A number from 0 to 1 that looks random and is the same for the same key."""
    return crc32(f"{salt}{key}".encode()) / 2**32
