"""Every kind of attack on every kind of answer: the scenes, generated."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, structs

from bowerbird.evaluate.crash.scene import Beyond
from bowerbird.evaluate.crash.scene import Scene as World
from bowerbird.evaluate.hostile.attacks import ATTACKS, TURNING
from bowerbird.evaluate.hostile.streams.frames import LINE_ATTACKS, SOCKET_ATTACKS
from bowerbird.evaluate.hostile.streams.messages import CHANNELS, STREAM_ATTACKS, fits
from bowerbird.evaluate.hostile.wires import WIRE_ATTACKS
from bowerbird.simulated.scale import Scale

FACETS = ("profiles", "timeline", "followers")
_PAGED = "timeline"
"""Has several pages in these worlds, and on most networks a position that leads to the next."""
_SCALE = Scale(limits=3.0, windows=0.01)
WORLDS = {
    dialect: World(dialect=dialect, scale=_SCALE, posts=posts, edges=5, accounts=9)
    for dialect, posts in (("mastodon", 20), ("bluesky", 25), ("x", 25), ("twitter_v1", 25), ("weibo", 25))
}
"""Small ones that stand still, by network: every page is one of several."""
_REPOSTS = Beyond("reposts", "own_posts", "not repost and reposts > 0")
_THREAD = Beyond("thread", "own_posts", "not repost and replies > 0")
_QUOTES = Beyond("quotes", "own_posts", "not repost and quotes > 0")
_TAGS = Beyond("hashtag", "tags")
BEYOND = {
    "mastodon": (_REPOSTS, _THREAD, _TAGS),
    "bluesky": (_REPOSTS, _THREAD, _TAGS),
    "x": (_REPOSTS, _QUOTES, _TAGS),
    "twitter_v1": (_REPOSTS, Beyond("reposters", "own_posts", "not repost and reposts > 0"), _TAGS),
    "weibo": (_REPOSTS, _THREAD, _TAGS),
}
"""Answers about posts and words, by network."""
_ON_POSTGRES = ("long ids", "nul", "surrogates", "huge numbers", "dates", "wrong types", "date of 9999", "around in a circle")


class Scene(Struct, frozen=True):
    """One attack on one kind of answer of one network, and the database it is crawled into."""

    network: str
    stage: str
    """`answers` (in process), `wire` (real HTTP), `stream` (in process), `socket` (streams over real sockets)."""
    part: str
    """The facet or the channel that is attacked."""
    attack: str
    is_on_postgres: bool = False

    @property
    def world(self) -> World:
        """What is crawled: no more than the attack needs."""
        is_beyond = self.stage == "answers" and self.part not in FACETS
        return structs.replace(WORLDS[self.network], beyond=BEYOND[self.network]) if is_beyond else WORLDS[self.network]

    @property
    def name(self) -> str:
        return f"{self.network} {self.part}: {self.attack}{' (PostgreSQL)' if self.is_on_postgres else ''}"


def scenes() -> Iterator[Scene]:
    """All of them, in an order that mixes networks and kinds: the first ones are a fair sample."""
    for number, attack in enumerate(ATTACKS):
        for step, network in enumerate(WORLDS):
            part = _PAGED if attack in TURNING else FACETS[(number + step) % len(FACETS)]
            yield Scene(network, "answers", part, attack)
            if attack not in TURNING:
                yield Scene(network, "answers", BEYOND[network][(number + step) % 3].facet, attack)
    for attack in _ON_POSTGRES:
        yield Scene("mastodon", "answers", "timeline", attack, True)
    for number, attack in enumerate(WIRE_ATTACKS):
        yield Scene(list(WORLDS)[number % len(WORLDS)], "wire", "profiles", attack)
    for attack in STREAM_ATTACKS:
        for channel in CHANNELS:
            if fits(attack, channel):
                yield Scene(CHANNELS[channel].network, "stream", channel, attack)
    for number, attack in enumerate(SOCKET_ATTACKS):
        channel = "jetstream" if number % 2 and "token" not in attack else "mastodon public"
        yield Scene(CHANNELS[channel].network, "socket", channel, attack)
    for number, attack in enumerate(LINE_ATTACKS):
        channel = ("x sample", "v1 sample")[number % 2]
        yield Scene(CHANNELS[channel].network, "socket", channel, attack)
    for attack in ("nul in the farewell", "long ids", "times to come"):
        yield Scene("mastodon", "stream", "mastodon public", attack, True)


def chosen(only: str = "", network: str = "", short: bool = False) -> list[Scene]:
    """The scenes whose attack or part contains `only`, of one network; a short version takes one of twelve."""
    found = [
        each
        for each in scenes()
        if only.casefold() in f"{each.stage} {each.part} {each.attack}".casefold() and network in ("", each.network)
    ]
    return [each for each in found if not each.is_on_postgres][::12] if short else found
