"""What is wanted of a crawl, or of a part of it: of one facet, of one worker. Read with every look."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.crawl.life import registry
from bowerbird.errors import UserError
from bowerbird.model import CrawlState
from bowerbird.ports import Transaction


class Kind(StrEnum):
    """What a wish is about."""

    FACET = "facet"
    WORKER = "worker"


class Part(Struct, frozen=True):
    """The part of a crawl that a wish is about, where it is not the whole."""

    kind: Kind
    name: str

    @property
    def shown(self) -> str:
        return f"{self.kind} {self.name}"


class ControlState(Struct, frozen=True):
    """How a crawl or a part of it stands, as somebody saw it who then asks for something else."""

    state: CrawlState | None
    """None: it is not in the store yet."""
    wanted: CrawlState | None

    @classmethod
    def told(cls, state: str, wanted: str) -> ControlState:
        """As a form sends it back; raises `UserError` for what is no state."""
        if unknown := {state, wanted} - {"", *CrawlState}:
            raise UserError(f"{min(unknown)!r:.20} is no state of a crawl", "look again", code="unknown_name")
        return cls(CrawlState(state) if state else None, CrawlState(wanted) if wanted else None)

    def leads_to(self, now: ControlState) -> bool:
        """True if nobody asked for anything else since: the same wish, and the old state or the one wished for."""
        return now.wanted == self.wanted and now.state in (self.state, self.wanted)


class Changed(UserError):
    """The crawl has changed since the user looked at it. Nothing was done."""

    default_code = "changed_meanwhile"


class Wishes(Struct, frozen=True):
    """What one worker of a crawl is to heed."""

    paused_facets: frozenset[str] = frozenset()
    is_paused: bool = False
    is_stopped: bool = False


_WISH = """
insert into controls (crawl, kind, name, wanted, since) values (?, ?, ?, ?, ?)
on conflict (crawl, kind, name) do update set wanted = excluded.wanted, since = excluded.since
"""
_READ = "select kind, name, wanted from controls where crawl = ?"
_TAKE_BACK = "delete from controls where crawl = ? and kind = ? and name = ?"
_BEGIN = f"delete from controls where crawl = ? and kind = '{Kind.WORKER}' and name = ? and wanted = '{CrawlState.STOPPED}'"


_CRAWL = "select crawl, state, wanted from crawls where name = ?"
_FACETS = "select facet as name from lanes where crawl = ? order by lane"
_LABELS = "select label as name from workers where name = ? and ended_at is null and label is not null order by worker"


async def control_state(tx: Transaction, name: str, part: Part | None = None) -> ControlState | None:
    """How a crawl stands, or what is wanted of a part of it; None where there is no such crawl."""
    row = await tx.fetch_one(_CRAWL, name)
    if row is None or part is None:
        return None if row is None else ControlState(CrawlState(row["state"]), CrawlState(row["wanted"]))
    wished = await tx.fetch(f"{_READ} and kind = ? and name = ?", row["crawl"], part.kind, part.name)
    wanted = CrawlState(wished[0]["wanted"]) if wished else CrawlState.RUNNING
    return ControlState(wanted, wanted)


async def ask_for(tx: Transaction, name: str, part: Part | None, wanted: CrawlState, now: datetime) -> None:
    """Writes down what is wanted of a crawl or of a part of it; raises `UserError` for what is not there."""
    row = await tx.fetch_one(_CRAWL, name)
    if row is None:
        raise UserError(f"there is no crawl called {name!r}", code="unknown_crawl")
    if part is None:
        await registry.set_wanted(tx, row["crawl"], wanted, now)
        return
    of_facet = part.kind is Kind.FACET
    rows = await (tx.fetch(_FACETS, row["crawl"]) if of_facet else tx.fetch(_LABELS, name))
    known = dict.fromkeys(str(each["name"]) for each in rows)
    if part.name not in known:
        raise UserError(
            f"{name} has no {part.kind} called {part.name!r}", f"there are: {', '.join(known) or 'none'}", code="unknown_name"
        )
    await wish(tx, row["crawl"], part.kind, part.name, wanted, now)


async def check_unchanged(tx: Transaction, name: str, part: Part | None, seen: ControlState) -> None:
    """Raises `Changed` where a crawl or its part no longer stands as somebody saw it, nor as they saw it was wanted."""
    now = await control_state(tx, name, part)
    if now is not None and not seen.leads_to(now):
        what = f"{part.shown} of {name}" if part else name
        is_wished = "" if now.state == now.wanted else f", and asked to be {now.wanted}"
        raise Changed(
            f"{what} was {seen.state} when you looked, and is {now.state}{is_wished} now: nothing was done.",
            "Look again",
            code="changed_meanwhile",
        )


async def wish(tx: Transaction, crawl: int, kind: Kind, name: str, wanted: CrawlState, now: datetime) -> None:
    """Pauses or stops one part of a crawl, or lets it run again."""
    if wanted == CrawlState.RUNNING:
        await tx.execute(_TAKE_BACK, crawl, kind, name)
    else:
        await tx.execute(_WISH, crawl, kind, name, wanted, to_micros(now))


async def begin(tx: Transaction, crawl: int, label: str) -> None:
    """A worker that was stopped and is started again is to run; one that was paused waits on."""
    if label:
        await tx.execute(_BEGIN, crawl, label)


async def read(tx: Transaction, crawl: int, label: str = "") -> Wishes:
    """What the worker of that label is to heed."""
    rows = [(Kind(row["kind"]), row["name"], row["wanted"]) for row in await tx.fetch(_READ, crawl)]
    mine = {wanted for kind, name, wanted in rows if kind is Kind.WORKER and name == label and label}
    return Wishes(
        paused_facets=frozenset(name for kind, name, _ in rows if kind is Kind.FACET),
        is_paused=CrawlState.PAUSED in mine,
        is_stopped=CrawlState.STOPPED in mine,
    )
