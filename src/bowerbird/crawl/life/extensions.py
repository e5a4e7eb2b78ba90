"""What a program that runs a crawl adds of its own: rankers under new names, a seeder around the flow's, judges, a
store around the usual one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from msgspec import Struct

from bowerbird.ports import Database, Judge, Ranker, Seeder, Store

RankerMaker = Callable[[timedelta | None], Ranker]
"""Makes a ranker for one facet from its `revisit`."""
SeederMaker = Callable[[Seeder, Mapping[str, int]], Seeder]
"""Makes a seeder from the flow's own and the lanes by facet."""
StoreMaker = Callable[[Store, Database, int], Store]
"""Makes a store from the crawl's own, its database and the number of the crawl."""


class Extensions(Struct, frozen=True):
    """Nothing, unless said otherwise."""

    rankers: Mapping[str, RankerMaker] = {}
    seeder: SeederMaker = lambda usual, lanes: usual
    judges: Sequence[Judge] = ()
    """Asked about every page, as those of the crawl file are."""
    store: StoreMaker = lambda usual, database, crawl: usual

    def ranker(self, name: str, revisit: timedelta | None, otherwise: Callable[[], Ranker]) -> Ranker:
        return self.rankers[name](revisit) if name in self.rankers else otherwise()
