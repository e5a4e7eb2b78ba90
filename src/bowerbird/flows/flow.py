"""A crawl flow: the automaton of facets and edges, as one frozen object, whether written in TOML or in Python.

Flow(
    name="timelines",
    facets=(FacetUse("profiles", ranker="circular", revisit=timedelta(minutes=15)), FacetUse("timeline")),
    edges=(Edge("profiles", "timeline", take="asked", when="news"),),
    seeds=("profiles",),
)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.flows.keywords import KeywordUse
from bowerbird.flows.language import condition
from bowerbird.flows.modules import ModuleUse
from bowerbird.model import Area, Channel, Facet, Geography, KeywordStream, Subject, Subscription
from bowerbird.model.modules import Modules
from bowerbird.model.subjects.community import JUDGE as COMMUNITY
from bowerbird.model.subjects.keywords import Methods
from bowerbird.model.times import span

STREAM = "stream"
"""Where edges start that read what the crawl's streams bring; no facet has this name."""
HEARD = Facet(name=STREAM, subject=Subject.WORD, yields=frozenset({"users", "posts", "relations"}))
"""What a flow may expect of a stream, whichever network it comes from."""


class Take(Struct, frozen=True):
    """Something an edge can take out of a page."""

    subject: Subject
    """What the taken targets are."""
    yields: str
    """What the page must carry for it."""
    about: str
    is_step: bool = True
    """Leads one step away from the seeds, unless it is what was asked about."""


TAKES: Mapping[str, Take] = {
    "asked": Take(Subject.USER, "users", "the accounts asked about, as far as the page shows them"),
    "users": Take(Subject.USER, "users", "all accounts of the page, also those that came along inside posts"),
    "missing": Take(Subject.USER, "users", "the accounts that a batch left out without saying why"),
    "authors": Take(Subject.USER, "posts", "who wrote the posts"),
    "mentions": Take(Subject.USER, "posts", "who is mentioned in the posts"),
    "sources": Take(Subject.USER, "relations", "who follows, in each relation"),
    "targets": Take(Subject.USER, "relations", "who is followed, in each relation"),
    "neighbours": Take(Subject.USER, "relations", "the other end of each relation of the account asked about"),
    "owners": Take(Subject.USER, "relations", "the accounts whose list it is, even if it is empty"),
    "posts": Take(Subject.POST, "posts", "the posts of the page", is_step=False),
    "own_posts": Take(Subject.POST, "posts", "the posts asked about, or of the account asked about", is_step=False),
    "reposted": Take(Subject.POST, "posts", "the posts passed on by reposts"),
    "replied": Take(Subject.POST, "posts", "the posts that replies answer"),
    "roots": Take(Subject.POST, "posts", "the posts that opened the conversations of the posts asked about", is_step=False),
    "quoted": Take(Subject.POST, "posts", "the posts that are quoted"),
    "quotes": Take(Subject.POST, "posts", "the posts that quote the one asked about"),
    "reposters": Take(Subject.USER, "users", "who passed posts on"),
    "tags": Take(Subject.WORD, "posts", "the hashtags of the posts"),
    "lists": Take(Subject.WORD, "lists", "the lists that accounts keep"),
}


WALKS = frozenset({"mhrw", "rwrw", "frontier"})
"""Rankers that go from account to account, along all lists of the flow that they rank."""
_COMES_ROUND = WALKS | {"circular", "echo", "focus", "index", "two_stage"}
"""Rankers for which no target is ever done."""


class FacetUse(Struct, frozen=True):
    """A facet as a flow uses it: who is next, how often again, and its share of the calls."""

    name: str
    ranker: str = "fifo"
    options: dict[str, str | int | float | bool] = {}
    """Of the ranker."""
    weight: float = 1.0
    revisit: timedelta | None = None
    """After a finished visit the target is due again; None leaves that to the ranker."""
    max_pages: int | None = None
    """A visit ends after so many pages, even if the list goes on."""
    large_share: float | None = None
    """Part of the calls that very long lists may take while shorter ones wait; None: they wait in line like all."""
    large_after: int = 5
    """Pages after which a list is such a long one."""
    optional: bool = False
    """Left out, with its edges, where the network has no such facet."""
    unless_paid: bool = False
    """Left out, with its edges, where the network charges for it; a crawl file switches it on there with `on = true`."""
    hints: dict[str, str] = {}
    """Passed on to the provider's request."""
    credentials: tuple[str, ...] = ()
    """Names in the vault: this facet is asked with these alone; empty: with all of the service."""

    @property
    def comes_round(self) -> bool:
        """Whether its targets are asked again by themselves, so that the flow goes on until it is stopped."""
        return self.revisit is not None or self.ranker in _COMES_ROUND


class Edge(Struct, frozen=True):
    """Targets found in the pages of one facet become tasks of another."""

    source: str
    """`from` in TOML."""
    to: str
    take: str
    when: str = ""
    wakes: bool | None = None
    """Makes a sleeping task ready again; None: exactly when the condition is about change (`condition.ABOUT_CHANGE`)."""
    optional: bool = False
    """Left out where the network's pages do not carry what it takes."""
    instead: bool = False
    """Holds only where facets are left out because they cost money."""


ESTIMATES = ("degree", "followers", "following", "posts", "verified", "bot", "protected")
"""What a sample is asked about: the lengths of the lists walked, three counters of the profile, and three shares; besides, the
share of any language: `language:pt`."""


class Stop(Struct, frozen=True):
    """When the crawl ends by itself; several may be set and the first one reached counts."""

    calls: int | None = None
    items: int | None = None
    users: int | None = None
    posts: int | None = None
    dollars: float | None = None
    """Kept by the crawl's own purse: no call is made that might cost more than is left, and when none can be made it ends."""
    duration: timedelta | None = None
    spread: bool = False
    """`calls` are for all of `duration`: they are spread over it, and the crawl does not make them as fast as it can."""
    spread_over: timedelta | None = None
    """The time that they are for, where only a part of it is played; no file says it."""
    when_empty: bool = True
    """Nothing waits and nothing will come due."""
    half_width: float | None = None
    """A sample is good enough: every one of `estimates` has settled, with 95 % intervals of at most so much to either side; of
    means as a part of the mean, of shares in points (0.05 is five of a hundred)."""
    estimates: tuple[str, ...] = ("degree",)

    def reached(self, size: Size) -> str | None:
        """The reason to stop, in words, or None to go on."""
        for name in ("calls", "items", "users", "posts"):
            limit = getattr(self, name)
            if limit is not None and getattr(size, name) >= limit:
                return f"{limit:,} {name if limit != 1 else name[:-1]} reached"
        if self.duration is not None and size.elapsed >= self.duration:
            return _ran(self.duration, size.earlier)
        return None


def _ran(allowed: timedelta, earlier: timedelta) -> str:
    """How long a crawl ran that its time ends, in words."""
    if earlier >= allowed:
        return f"its time is over: earlier runs took the {span(allowed)} that it may run"
    own, whole = span(allowed - earlier), span(allowed)
    return f"ran for {own}" if own == whole else f"ran for {own} ({whole} with earlier runs)"


class Size(Struct, frozen=True, kw_only=True):
    """How large a crawl has become."""

    calls: int = 0
    items: int = 0
    users: int = 0
    posts: int = 0
    elapsed: timedelta = timedelta(0)
    """How long it was run."""
    earlier: timedelta = timedelta(0)
    """How much of that was before this run."""


class Filters(Struct, frozen=True):
    """Who is followed further; what a page carries is stored all the same."""

    languages: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    when: str = ""
    """A condition that whoever is found on the way must fulfil, such as `judged('language', 'pt')`."""
    follow_opted_out: bool = False
    """Accounts that asked not to be collected are left alone unless a consent says otherwise."""
    max_depth: int | None = None
    max_users: int | None = None
    """So many accounts are asked about; see `Admission`."""
    max_followers: int | None = None
    max_following: int | None = None
    """Longer lists are not asked for, where the flow's conditions say so."""


class Flow(Struct, frozen=True):
    """What a crawl asks and what it does with the answers."""

    name: str
    facets: tuple[FacetUse, ...]
    edges: tuple[Edge, ...] = ()
    seeds: tuple[str, ...] = ()
    """Each seed goes to the first of these facets that can take it (a handle may need another one than an id)."""
    stop: Stop = Stop()
    filters: Filters = Filters()
    weight: float = 1.0
    """Share of this flow where several use the same credentials."""
    about: str = ""
    keywords: KeywordUse | None = None
    """Its seeds are keywords that change while it runs; None: they are targets like any other."""
    modules: tuple[ModuleUse, ...] = ()
    """Periodic jobs that run with it."""

    def facet(self, name: str) -> FacetUse:
        return next(use for use in self.facets if use.name == name)

    @property
    def goes_round(self) -> bool:
        """Whether some of its targets come due again by themselves, so that it never has asked everything."""
        return any(use.comes_round for use in self.facets)

    @property
    def walks(self) -> bool:
        """Whether it takes a sample: rankers lead from account to account."""
        return any(use.ranker in WALKS for use in self.facets)

    @property
    def listens(self) -> bool:
        """Whether something is to be done with what streams bring."""
        return any(edge.source == STREAM for edge in self.edges)

    @property
    def needs_places(self) -> bool:
        """Whether it asks of what it finds if that belongs to a place."""
        return "place" in self.judges

    @property
    def needs_community(self) -> bool:
        """Whether it asks of those whom it finds if they belong to a community."""
        return COMMUNITY in self.judges

    @property
    def judges(self) -> frozenset[str]:
        """Whose judgements its conditions ask for."""
        texts = (*(edge.when for edge in self.edges), self.filters.when)
        asked = [condition.parse(text) for text in texts if text]
        places = {"place"} if any("located" in each.words for each in asked) else set()
        return frozenset().union(places, *(each.judges for each in asked))

    def heeds_counters(self, lookups: Set[str]) -> bool:
        """Whether it does something when the counter of a profile has moved: looks again, or leads on to those with news."""
        comes_back = any(use.comes_round for use in self.facets if use.name in lookups)
        return comes_back or any("news" in condition.parse(edge.when).words for edge in self.edges if edge.when)

    def among(self, facets: Mapping[str, Facet]) -> Flow:
        """The flow as a network with these facets runs it: without what is not to be had there, or only for money."""
        spared = self.spared(facets)
        missing = frozenset((*self.lacking(facets), *spared))
        return msgspec.structs.replace(
            self.without(missing),
            edges=tuple(
                edge
                for edge in self.edges
                if missing.isdisjoint((edge.source, edge.to)) and _is_fed(edge, facets) and (spared or not edge.instead)
            ),
        )

    def lacking(self, facets: Mapping[str, Facet]) -> tuple[str, ...]:
        """The optional facets that a network does not have, and so are left out there."""
        return tuple(use.name for use in self.facets if use.optional and use.name not in facets)

    def spared(self, facets: Mapping[str, Facet]) -> tuple[str, ...]:
        """The facets that a network charges for and that nobody switched on there."""
        return tuple(use.name for use in self.facets if use.unless_paid and use.name in facets and facets[use.name].is_paid)

    def without(self, off: Set[str]) -> Flow:
        """The flow without these facets, and without what leads to and from them."""
        return msgspec.structs.replace(
            self,
            facets=tuple(use for use in self.facets if use.name not in off),
            edges=tuple(edge for edge in self.edges if off.isdisjoint((edge.source, edge.to))),
            seeds=tuple(name for name in self.seeds if name not in off),
        )

    def edges_from(self, name: str) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.source == name)


def _is_fed(edge: Edge, facets: Mapping[str, Facet]) -> bool:
    """Whether the pages it reads carry what it takes; only an optional edge may go unfed."""
    return not edge.optional or edge.source not in facets or TAKES[edge.take].yields in facets[edge.source].yields


def _no_subscription(provider: str, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
    raise UserError(f"{provider} has no channel {channel!r}", code="unknown_name")


def _no_area(name: str) -> Area:
    raise UserError("names of places are not known here", f"write a box for {name!r}", code="unsupported")


class Vocabulary(Struct, frozen=True):
    """The words a flow or crawl file may use besides its own; the composition root fills it."""

    rankers: Mapping[str, frozenset[str]]
    """Names and the options of each."""
    providers: Mapping[str, Mapping[str, Facet]]
    """Names and the facet table of each."""
    flows: Mapping[str, str] = {}
    """Names and the TOML of the built-in flows."""
    judges: frozenset[str] = frozenset({"place", "language", "variety", "community"})
    """Who may be asked for in conditions: `judged('place', 'Lisbon')`."""
    channels: Mapping[str, Mapping[str, Channel]] = {}
    """By provider: the streams of its network."""
    subscribe: Callable[[str, str, Mapping[str, Sequence[str]]], Subscription] = _no_subscription
    """Provider, channel and options to a subscription; raises `UserError` for what the network would refuse."""
    area: Callable[[str], Area] = _no_area
    """The area that a name means; raises `UserError` where it means none."""
    place_ways: Mapping[str, tuple[str, ...]] = {}
    """By provider: the ways (`stream`, `search`) in which its network can be asked about areas, the better one first."""
    geography: Callable[[str, Sequence[Area], str], Geography] = lambda provider, areas, way: Geography()
    """Provider, areas and way to what is to be asked."""
    methods: Methods = {}
    """Names of the methods that adapt keywords, and the options of each."""
    keywords: Callable[[str, Sequence[str]], KeywordStream | None] = lambda provider, keywords: None
    """Provider and keywords as somebody wrote them to the stream that brings them; raises `UserError` for what is no keyword."""
    modules: Modules = {}
    """Names of the modules there are, and what each takes."""
    check_limits: Callable[[str, Mapping[str, Mapping[str, Any]]], object] = lambda provider, limits: None
    """Provider and limits by facet; raises `UserError` for limits that the provider does not have."""

    def facets(self, provider: str | None = None) -> Mapping[str, Facet]:
        """The facet table of one provider, or of all together for a flow that names none."""
        if provider is not None:
            return self.providers[provider]
        merged: dict[str, Facet] = {}
        for table in self.providers.values():
            for name, facet in table.items():
                yields = facet.yields | (merged[name].yields if name in merged else frozenset())
                merged[name] = msgspec.structs.replace(facet, yields=yields)
        return merged


def wakes(edge: Edge) -> bool:
    if edge.wakes is not None:
        return edge.wakes
    return bool(edge.when) and condition.parse(edge.when).is_about_change
