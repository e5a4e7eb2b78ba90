"""What a running crawl is doing, for the day it seems stuck: every task's stack and the state of the ledgers, in one file."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from bowerbird.app import Crawl
from bowerbird.cli.screens.output import printable
from bowerbird.crawl.process.supervisor import stack_lines


def write_dump(crawl: Crawl, folder: Path, now: datetime) -> Path:
    """Writes the dump into a new file of the folder; its name holds the time."""
    path = folder / f"bowerbird-{crawl.plan.name}-{now:%Y%m%d-%H%M%S}.dump.txt"
    path.write_text("\n".join(printable(line) for line in dump_lines(crawl, now)) + "\n", encoding="utf-8")
    return path


def dump_lines(crawl: Crawl, now: datetime) -> Iterator[str]:
    """Tasks first, then ledgers; no secret is in either."""
    yield f"crawl {crawl.plan.name}, flow {crawl.plan.flow.name}, at {now.isoformat()}"
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    yield f"\n{len(tasks)} tasks"
    for task in tasks:
        yield f"\n  {task.get_name()} {_what(task)}"
        yield from (f"    {line}" for line in stack_lines(task))
    yield "\nthreads"
    for number, frame in sys._current_frames().items():
        yield f"\n  thread {number}"
        yield from (f"    {line.strip()}" for line in traceback.format_stack(frame)[-6:])
    yield "\nledgers"
    for name, state in sorted(crawl.ledgers.buckets().items()):
        yield f"  {name} {msgspec.json.encode(state).decode()}"


def _what(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return str(getattr(coroutine, "__qualname__", coroutine))
