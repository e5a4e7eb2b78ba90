"""What each policy may ask, and how often: the same calls for all.

A look-up asks for the profiles of 100 accounts and shows the newest post of each, as on Twitter v1.1; a timeline shows the newest
200 posts of one account. The published systems ask what they asked: TwitterEcho looked up and nothing else, Sinawler's status
robot read one timeline after the other. Nobody reads further back than one page: the posts of the period are counted, not those
before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

from msgspec import Struct

from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.settings import PUBLISHED_SPREAD

CLIENT = timedelta(seconds=12)
"""One call in so much time, five a minute: the pace of one of TwitterEcho's clients (section 3.3.5)."""
CLIENT_ACCOUNTS = 20_000
USUAL_ACCOUNTS = 3_000
"""Calls are in proportion to the accounts, and so a smaller world gives about the same shares in less time."""
_WINDOW = timedelta(minutes=15)
_FEWEST = 15
_INEXACT = 0.01

LOOKUP_WEIGHT, TIMELINE_WEIGHT = 2, 3
"""How the two kinds of calls share the budget where a policy makes both."""

_LOOK_UPS = 'flow.seeds = ["profiles"]\nflow.facets.profiles.ranker = "{}"\n'
_TIMELINES = 'flow.seeds = ["timeline"]\nflow.facets.timeline.ranker = "{}"\nflow.facets.timeline.max_pages = 1\n'
_BOTH = """
flow.seeds = ["profiles"]
flow.facets.profiles = {{ranker = "{lookups}", weight = {first}}}
flow.facets.timeline = {{ranker = "{timelines}", weight = {second}, max_pages = 1}}
flow.edges = [{{from = "profiles", to = "timeline", take = "asked", when = "news and not first and not protected"}}]
"""
"""The built-in flow `timelines` without its way back into the past."""


class Scene(Struct, frozen=True, kw_only=True):
    """One policy with its questions: the rankers of its look-ups and of its timelines; `share` is its part of the full number of
    calls, in the whole time where it `spreads` them, and else in every window."""

    asks: str
    lookups: str | None = None
    timelines: str | None = None
    share: float = 1.0
    spreads: bool = False
    knows_truth: bool = False
    """Its look-ups are made at the moment of the next post."""

    @property
    def window_share(self) -> float:
        """Its part of the calls that may be made in a window."""
        return 1.0 if self.spreads else self.share

    def stop(self, accounts: int, days: float) -> str:
        """When it ends, as a crawl file says it."""
        duration = f'stop.duration = "{round(days * 1440)}m"'
        return f"{duration}\nstop.calls = {self.calls(accounts, days)}\nstop.spread = true" if self.spreads else duration

    def calls(self, accounts: int, days: float) -> int:
        """How many calls it may make in all."""
        allowed = budget(accounts, self.share)
        return int(allowed.allowance * (timedelta(days=days) / allowed.window))

    @property
    def flow(self) -> str:
        """The same as a crawl file says it."""
        if self.lookups and self.timelines:
            return _BOTH.format(lookups=self.lookups, timelines=self.timelines, first=LOOKUP_WEIGHT, second=TIMELINE_WEIGHT)
        return _LOOK_UPS.format(self.lookups) if self.lookups else _TIMELINES.format(self.timelines)


SCENES: Mapping[str, Scene] = MappingProxyType(
    {
        "round_robin": Scene(asks="look-ups, everybody in turn", lookups="circular"),
        "circular": Scene(asks="timelines, everybody in turn", timelines="circular"),
        "echo": Scene(asks="look-ups", lookups="echo"),
        "index": Scene(asks="look-ups", lookups="index"),
        "two_stage": Scene(asks="look-ups, and timelines of those with more", lookups="two_stage", timelines="two_stage"),
        "two_stage_quarter": Scene(
            asks="the same with a quarter of the calls, spread over the time",
            lookups="two_stage",
            timelines="two_stage",
            share=0.25,
            spreads=True,
        ),
        "two_stage_quarter_pace": Scene(
            asks="the same with limits of a quarter", lookups="two_stage", timelines="two_stage", share=0.25
        ),
        "oracle": Scene(
            asks="look-ups of those who have just posted, and timelines of those with more",
            lookups="two_stage",
            timelines="two_stage",
            knows_truth=True,
        ),
    }
)


def drawn_world(accounts: int, seed: int) -> WorldSettings:
    """A world as uneven as TwitterEcho's, without what nobody counts here and everything would take longer for: likes, and a long
    past."""
    return WorldSettings(seed=seed, accounts=accounts, spread=PUBLISHED_SPREAD, likes_per_post=0.0, history=timedelta(days=10))


class Budget(Struct, frozen=True):
    """How many calls of whatever kind may be made in a window."""

    allowance: int
    window: timedelta = _WINDOW

    @property
    def limits(self) -> dict[str, dict[str, object]]:
        """The same as a crawl file says it."""
        return {"together": {"allowance": self.allowance, "window": self.window}}


def budget(accounts: int, share: float = 1.0) -> Budget:
    """The calls of one client for 20,000 accounts, in proportion for fewer or more."""
    calls = _WINDOW / CLIENT * accounts / CLIENT_ACCOUNTS * share
    # As many calls in a long window rather than a fraction of a call too many in a short one.
    windows = next(
        n for n in range(1, 10_000) if calls * n >= _FEWEST and abs(calls * n - round(calls * n)) <= _INEXACT * calls * n
    )
    return Budget(round(calls * windows), _WINDOW * windows)
