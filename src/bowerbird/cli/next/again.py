"""How a crawl of a place is run again, with what its file says now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from bowerbird.cli.store_addresses import read_plan
from bowerbird.cli.which import NamedStore
from bowerbird.db.addresses import public
from bowerbird.errors import BowerbirdError
from bowerbird.ports import Transaction
from bowerbird.reports.next_steps.again import UNKNOWN, Again, read_again

if TYPE_CHECKING:
    from bowerbird.flows.files.crawl_file import CrawlPlan


def plan_of(again: Again, store: str, crawl: str) -> CrawlPlan | None:
    """What the file says now; None where it cannot be read, or is about something else by now."""
    try:
        plan = read_plan(Path(again.file), name=again.name, may_lack_seeds=True)
    except (BowerbirdError, OSError):
        return None
    is_there = plan.store == store or ("://" not in store and _is_same_file(plan.store, store))
    return plan if is_there and plan.name == crawl else None


def place_of(again: Again, store: str) -> str:
    """What `status` is told to look at the crawl: the file, unless without the name it means another database."""
    try:
        is_there = again.name is None or public(read_plan(Path(again.file), may_lack_seeds=True).store) == store
    except (BowerbirdError, OSError):
        is_there = False
    return again.file if is_there else store


def with_seeds(again: Again, plan: CrawlPlan, seeds: Sequence[str]) -> Again:
    """The same with the seeds of the command line, where the file has none of its own."""
    has_own = len(plan.seeds.written) > len(seeds) or bool(plan.seeds.file or plan.seeds.query)
    return again if has_own else structs.replace(again, seeds=tuple(seeds))


async def again_of(tx: Transaction, place: NamedStore, crawl: str) -> Again:
    """How a crawl of a place is run again: by the file that was named, or else the one that it was run with last."""
    known = await read_again(tx, crawl)
    if place.file is None:
        return _from_here(known)
    own = known if _is_same_file(known.file, place.file) else Again()
    if place.crawl == crawl:
            return structs.replace(own, file=place.file, name=None)
    named = structs.replace(own, file=place.file, name=crawl)
    is_meant = own is known or known.file == UNKNOWN
    return named if is_meant and plan_of(named, place.store, crawl) else _from_here(known)


def _from_here(known: Again) -> Again:
    """The same with its file as it is called from the current folder; unknown where it is no longer there."""
    path = Path(known.file)
    if not path.is_file():
        return Again()
    return structs.replace(known, file=str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _is_same_file(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()
