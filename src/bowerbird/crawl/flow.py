"""A crawl flow: the automaton of facets and edges, as one frozen object, whether written in TOML or in Python.

Flow(
    name="timelines",
    facets=(FacetUse("profiles", ranker="circular", revisit=timedelta(minutes=15)), FacetUse("timeline")),
    edges=(Edge("profiles", "timeline", take="asked", when="news"),),
    seeds=("profiles",),
)
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import msgspec
from msgspec import Struct

from bowerbird.crawl.files.language import condition
from bowerbird.model import Facet, Subject


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
    "authors": Take(Subject.USER, "posts", "who wrote the posts"),
    "mentions": Take(Subject.USER, "posts", "who is mentioned in the posts"),
    "sources": Take(Subject.USER, "relations", "who follows, in each relation"),
    "targets": Take(Subject.USER, "relations", "who is followed, in each relation"),
    "neighbours": Take(Subject.USER, "relations", "the other end of each relation of the account asked about"),
    "posts": Take(Subject.POST, "posts", "the posts of the page", is_step=False),
    "reposted": Take(Subject.POST, "posts", "the posts passed on by reposts"),
    "replied": Take(Subject.POST, "posts", "the posts that replies answer"),
    "quoted": Take(Subject.POST, "posts", "the posts that are quoted"),
    "tags": Take(Subject.WORD, "posts", "the hashtags of the posts"),
}


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
    hints: dict[str, str] = {}
    """Passed on to the provider's request."""


class Edge(Struct, frozen=True):
    """Targets found in the pages of one facet become tasks of another."""

    source: str
    """`from` in TOML."""
    to: str
    take: str
    when: str = ""
    wakes: bool | None = None
    """Makes a sleeping task ready again; None: exactly when the condition is about change (`news`, `new`, `changed`)."""


class Stop(Struct, frozen=True):
    """When the crawl ends by itself; several may be set and the first one reached counts."""

    calls: int | None = None
    items: int | None = None
    users: int | None = None
    posts: int | None = None
    duration: timedelta | None = None
    when_empty: bool = True
    """Nothing waits and nothing will come due."""

    def reached(self, size: Size) -> str | None:
        """The reason to stop, in words, or None to go on."""
        for name in ("calls", "items", "users", "posts"):
            limit = getattr(self, name)
            if limit is not None and getattr(size, name) >= limit:
                return f"{limit:,} {name} reached"
        if self.duration is not None and size.elapsed >= self.duration:
            return f"ran for {self.duration}"
        return None


class Size(Struct, frozen=True, kw_only=True):
    """How large a crawl has become."""

    calls: int = 0
    items: int = 0
    users: int = 0
    posts: int = 0
    elapsed: timedelta = timedelta(0)


class Filters(Struct, frozen=True):
    """Who is followed further; what a page carries is stored all the same."""

    languages: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    follow_opted_out: bool = False
    """Accounts that asked not to be collected are left alone unless a consent says otherwise."""
    max_depth: int | None = None
    max_users: int | None = None


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

    def facet(self, name: str) -> FacetUse:
        return next(use for use in self.facets if use.name == name)

    def edges_from(self, name: str) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.source == name)


class Vocabulary(Struct, frozen=True):
    """The words a flow or crawl file may use besides its own; the composition root fills it."""

    rankers: Mapping[str, frozenset[str]]
    """Names and the options of each."""
    providers: Mapping[str, Mapping[str, Facet]]
    """Names and the facet table of each."""
    flows: Mapping[str, str] = {}
    """Names and the TOML of the built-in flows."""

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
