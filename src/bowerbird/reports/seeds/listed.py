"""The seeds of a crawl as its queues hold them: what was asked about each, and when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import Failure, stored_failure
from bowerbird.model import TaskState
from bowerbird.ports import Row, Transaction
from bowerbird.reports.browsing.pages import Ask, PageOf

_OF_CRAWL = "lane in (select l.lane from lanes l join crawls w on w.crawl = l.crawl where w.name = ?)"
_SEEDS = "t.depth = 0 and t.added_by is null"
_PAGE = f"""
select t.task, t.target, t.state, t.visits, t.visited_at, t.failure, l.facet, s.name as service
from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
where t.{_OF_CRAWL} and {_SEEDS} and {{beyond}} {{like}} order by t.task {{order}} limit ?
"""
_TARGETS = f"""
select distinct s.name as service, t.target from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
where t.{_OF_CRAWL} and {_SEEDS}
"""


class ListedSeed(Struct, frozen=True, kw_only=True):
    """One seed at one service."""

    task: int
    service: str
    facet: str
    target: str
    state: TaskState
    visits: int
    visited_at: datetime | None
    failure: Failure | None


async def read_seeds(tx: Transaction, crawl: str, ask: Ask, word: str = "") -> PageOf[ListedSeed]:
    """A page of the seeds; `word`: only those that hold it."""
    beyond, values = ask.beyond("t.task")
    like, more = ("and t.target like ? escape '!'", (f"%{_plain(word)}%",)) if word else ("", ())
    sql = _PAGE.format(beyond=beyond, like=like, order=ask.order)
    return ask.page(await tx.fetch(sql, crawl, *values, *more, ask.limit), "task", _seed)


async def read_targets(tx: Transaction, crawl: str) -> Sequence[tuple[str, str]]:
    """All seeds: a service, and what is asked about there."""
    return [(row["service"], row["target"]) for row in await tx.fetch(_TARGETS, crawl)]


def _plain(word: str) -> str:
    """The word with nothing in it that stands for something else."""
    return "".join(f"!{mark}" if mark in "!%_" else mark for mark in word)


def _seed(row: Row) -> ListedSeed:
    visited = row["visited_at"]
    return ListedSeed(
        task=row["task"],
        service=row["service"],
        facet=row["facet"],
        target=row["target"],
        state=TaskState(row["state"]),
        visits=row["visits"],
        visited_at=None if visited is None else from_micros(visited),
        failure=stored_failure(row["failure"]),
    )
