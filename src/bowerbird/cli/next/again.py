"""How a crawl is run again: its file, and the options without which that would be another crawl, or be refused."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from bowerbird.cli.store_addresses import read_plan
from bowerbird.cli.which import Place
from bowerbird.db.addresses import public
from bowerbird.errors import BowerbirdError
from bowerbird.ports import Transaction

if TYPE_CHECKING:
    from bowerbird.flows.files.crawl_file import CrawlPlan

UNKNOWN = "FILE"
_READ = "select settings from crawls where name = ?"


class Again(Struct, frozen=True, kw_only=True):
    """The words of a command line that go on with a crawl."""

    file: str = UNKNOWN
    name: str | None = None
    """Where the file alone would be another crawl."""
    seeds: tuple[str, ...] = ()
    """Where the file has none of its own."""
    skips_bad: bool = False
    vault: str | None = None
    keys: str = ""
    """The vault that was in force, told or not."""
    dollars: float | None = None
    """What the last run was given to spend; of use only to those who spend."""

    def line(self, *more: str) -> str:
        """The whole command, ready to be typed."""
        seeds = [word for seed in self.seeds for word in ("--seed", seed)]
        named = ["--as", self.name] if self.name else []
        skips = ["--skip-bad"] if self.skips_bad else []
        vault = ["--vault", self.vault] if self.vault else []
        return shlex.join(["bowerbird", "crawl", self.file, *named, *seeds, *skips, *vault, *more])

    def plan(self, store: str, crawl: str) -> CrawlPlan | None:
        """What the file says now; None where it cannot be read, or is about something else by now."""
        try:
            plan = read_plan(Path(self.file), name=self.name, may_lack_seeds=True)
        except (BowerbirdError, OSError):
            return None
        is_there = plan.store == store or ("://" not in store and _is_same_file(plan.store, store))
        return plan if is_there and plan.name == crawl else None

    def place(self, store: str) -> str:
        """What `status` is told to look at the crawl: the file, unless without the name it means another database."""
        try:
            is_there = self.name is None or public(read_plan(Path(self.file), may_lack_seeds=True).store) == store
        except (BowerbirdError, OSError):
            is_there = False
        return self.file if is_there else store

    def touched_since(self, when: datetime) -> Iterator[str]:
        """What was changed since then: the crawl file, or the vault."""
        for what, path in (("its file", Path(self.file)), ("the vault", Path(self.keys))):
            if path.is_file() and path.stat().st_mtime > when.timestamp():
                yield what

    def kept(self) -> dict[str, object]:
        """What the database remembers, true from any folder."""
        paths = {name: str(Path(path).absolute()) for name in ("file", "vault", "keys") if (path := getattr(self, name))}
        return {name: value for name, value in structs.asdict(self).items() if value} | paths


def with_seeds(again: Again, plan: CrawlPlan, seeds: Sequence[str]) -> Again:
    """The same with the seeds of the command line, where the file has none of its own."""
    has_own = len(plan.seeds.written) > len(seeds) or bool(plan.seeds.file or plan.seeds.query)
    return again if has_own else structs.replace(again, seeds=tuple(seeds))


async def again_of(tx: Transaction, place: Place, crawl: str) -> Again:
    """How a crawl of a place is run again: by the file that was named, or else the one that it was run with last."""
    known = await _remembered(tx, crawl)
    if place.file is None:
        return _from_here(known)
    own = known if _is_same_file(known.file, place.file) else Again()
    if place.crawl == crawl:
        return structs.replace(own, file=place.file, name=crawl if place.is_renamed else None)
    named = structs.replace(own, file=place.file, name=crawl)
    is_meant = own is known or known.file == UNKNOWN
    return named if is_meant and named.plan(place.store, crawl) else _from_here(known)


async def vaults_of(tx: Transaction) -> list[str]:
    """The vaults that crawls of a store were run with."""
    names = [row["name"] for row in await tx.fetch("select name from crawls")]
    return [vault for name in names if (vault := (await _remembered(tx, name)).keys)]


async def _remembered(tx: Transaction, crawl: str) -> Again:
    row = await tx.fetch_one(_READ, crawl)
    told = msgspec.json.decode(row["settings"]) if row is not None and row["settings"] else {}
    try:
        return msgspec.convert(told.get("called") or {}, Again)
    except msgspec.ValidationError:
        return Again()


def _from_here(known: Again) -> Again:
    """The same with its file as it is called from the current folder; unknown where it is no longer there."""
    path = Path(known.file)
    if not path.is_file():
        return Again()
    return structs.replace(known, file=str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _is_same_file(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()
