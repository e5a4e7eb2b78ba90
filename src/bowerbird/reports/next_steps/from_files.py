"""What goes on with the crawls of a store that nobody runs, by what their files say now."""

from __future__ import annotations

from pathlib import Path

from bowerbird.db.addresses import in_vault
from bowerbird.errors import BowerbirdError
from bowerbird.flows.files.crawl_file import CrawlPlan, read_crawl_file
from bowerbird.flows.flow import Vocabulary
from bowerbird.ports import Database
from bowerbird.reports.next_steps.again import UNKNOWN, Again, read_again
from bowerbird.reports.next_steps.deciding import next_step
from bowerbird.reports.next_steps.reading import read_ended
from bowerbird.reports.next_steps.step import Step
from bowerbird.reports.status.status import Status


class NextSteps:
    """By crawl what to do next; worked out anew only where something has changed, because it reads crawl files."""

    def __init__(self, words: Vocabulary) -> None:
        """`words`: what crawl files may say."""
        self._words = words
        self._known: dict[str, tuple[object, Step]] = {}

    async def read(self, database: Database, status: Status) -> dict[str, Step]:
        """Of the crawls that nobody runs."""
        running = {process.crawl for process in status.processes}
        found = {}
        for crawl in status.summary.crawls:
            if crawl.name in running:
                continue
            async with database.reading() as tx:
                again = await read_again(tx, crawl.name)
                mark = (crawl.state, crawl.reason, crawl.updated_at, again, _changed(again))
                if self._known.get(crawl.name, (None,))[0] != mark:
                    again = again if _changed(again) else Again()
                    ended = await read_ended(tx, crawl, status.summary.lanes, again, status.now)
                    self._known[crawl.name] = mark, next_step(_plan(again, crawl.name, self._words), again, ended)
            found[crawl.name] = self._known[crawl.name][1]
        return found


def _changed(again: Again) -> float:
    """When its file was last written; 0: there is none."""
    path = Path(again.file)
    return path.stat().st_mtime if path.is_file() else 0.0


def _plan(again: Again, crawl: str, words: Vocabulary) -> CrawlPlan | None:
    """What the file says now; None where it cannot be read, or is about something else by now."""
    if again.file == UNKNOWN:
        return None
    try:
        plan = read_crawl_file(Path(again.file), words, name=again.name, may_lack_seeds=True)
    except (BowerbirdError, OSError):
        return None
    # Of a database that the vault names, nobody here knows whether it is this one.
    return plan if plan.name == crawl and in_vault(plan.store) is None else None
