"""What to run next: the command that continues a crawl."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from bowerbird.cli.which import NamedStore
from bowerbird.ports import Transaction
from bowerbird.reports.rerun import UNKNOWN, RerunCommand, is_complete, read_rerun_commands
from bowerbird.reports.status.summary import CrawlReport


async def read_continue_commands(tx: Transaction, place: NamedStore, crawls: Iterable[CrawlReport]) -> dict[str, str]:
    """By crawl, the command that continues it; without crawls that are complete or were run without a crawl file."""
    stored = await read_rerun_commands(tx)
    commands = {
        crawl.name: _from_here(stored[crawl.name], place, crawl.name)
        for crawl in crawls
        if not is_complete(crawl.state, crawl.reason)
    }
    return {crawl: command.line() for crawl, command in commands.items() if command.file != UNKNOWN}


def continue_line(command: str) -> str:
    """The last line of a summary: what to run next."""
    return f"Continue with: {command}"


def _from_here(stored: RerunCommand, place: NamedStore, crawl: str) -> RerunCommand:
    """The command line that a crawl was last run with, as it is written in the current folder."""
    if place.file is not None and place.crawl == crawl:
        # The user named the file just now; the stored path may be one of another machine.
        return structs.replace(stored, file=place.file, name=None)
    path, here = Path(stored.file), Path.cwd()
    inside = path.is_relative_to(here)
    return structs.replace(stored, file=str(path.relative_to(here))) if inside else stored
