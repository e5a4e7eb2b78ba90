"""A simulated world seen as a crawl sees it: candidates around some members, their profiles, posts and lists."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np
from msgspec import Struct

from bowerbird.model import Post, PostKind, User
from bowerbird.model.subjects.community import YES, Neighbours
from bowerbird.providers.twitter_v1.reading.shapes import Account, Tweet, post_of, user_of
from bowerbird.simulated.twitter_v1.payloads import Payloads
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.nations.people import residence
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, Row, author_of
from bowerbird.simulated.world.settings import PUBLISHED_SPREAD, to_ms
from bowerbird.simulated.world.world import first

HOME = 3
"""The town whose people are the community: Portugal."""
START = datetime(2026, 1, 5, tzinfo=UTC)
_SEEDS = 0.1
"""Of the members, how many the candidates are found around."""
_MOST_POSTS = 100
_MENTIONED = 0.6
"""Of the candidates, how many are mentioned by members; the others follow one."""


class Candidate(Struct, frozen=True):
    """Somebody who may belong."""

    account: int
    user: User
    belongs: bool
    is_abroad: bool


class Scene:
    """One world at one moment."""

    def __init__(self, seed: int, accounts: int) -> None:
        self.world = World(
            WorldSettings(
                seed=seed, accounts=accounts, start=START, mixed=True, spread=PUBLISHED_SPREAD, likes_per_post=0.0,
                history=timedelta(days=90), longest_history=400,
            )
        )  # fmt: skip
        self._now = to_ms(START + timedelta(days=1))
        self._payloads = Payloads(self.world)
        self._random = np.random.default_rng(seed)

    def candidates(self, count: int) -> list[Candidate]:
        """Found around some members, who are not among them; protected accounts show their profile too."""
        people = self.world.people
        members = np.flatnonzero(people.community == HOME)
        seeds = self._random.choice(members, max(10, round(len(members) * _SEEDS)), replace=False)
        known, found = set(seeds.tolist()), list[int]()
        for seed in self._random.choice(seeds, count * 20).tolist():
            other = self._mentioned(seed) if self._random.random() < _MENTIONED else self._follower(seed)
            if other is not None and other not in known and self.world.exists(other, self._now):
                known.add(other)
                found.append(other)
            if len(found) == count:
                break
        return [self._candidate(account) for account in found]

    def _candidate(self, account: int) -> Candidate:
        home = int(self.world.people.community[account])
        user = user_of(msgspec.json.decode(self._payloads.user(account, self._now), type=Account), b"")
        return Candidate(account, user, home == HOME, residence(self.world.settings.seed, account, home) != home)

    def _mentioned(self, account: int) -> int | None:
        """Whom a post of the account answers, or else somebody whom it follows."""
        answered = [author_of(row.target) for row in self._rows(account) if row.kind == REPLY]
        if answered:
            return int(self._random.choice(answered))
        followed = self.world.graph.following(account, self._now)[0]
        return int(self._random.choice(followed)) if len(followed) else None

    def _follower(self, account: int) -> int | None:
        followers = self.world.graph.followers(account, self._now)[0]
        return int(self._random.choice(followers)) if len(followers) else None

    def _rows(self, account: int) -> list[Row]:
        return first(self.world.timeline(account, self._now), _MOST_POSTS)

    def posts(self, account: int) -> list[str]:
        """The newest posts of an account; nothing of those that show none."""
        if not self.world.is_open(account, self._now):
            return []
        rows = [row for row in self._rows(account) if row.kind != REPOST]
        posts = [self._post(body) for body in self._payloads.tweets(rows, self._now, is_extended=True)]
        return [post.text for post in posts if post.kind is not PostKind.REPOST and post.text]

    def _post(self, body: bytes) -> Post:
        return post_of(msgspec.json.decode(body, type=Tweet), "", b"")

    def neighbours(self, account: int, values: Mapping[int, str]) -> Neighbours:
        """As a crawl knows them that reads the lists of members, and whom the undecided follow."""
        graph = self.world.graph
        followers, follows = graph.followers(account, self._now)[0].tolist(), graph.following(account, self._now)[0].tolist()
        said = [values[each] for each in follows if values.get(each) in ("yes", "no")]
        return Neighbours(
            followed_in=sum(values.get(each) == YES for each in followers),
            follows_in=said.count(YES),
            follows_out=len(said) - said.count(YES),
        )
