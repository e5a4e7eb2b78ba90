"""Starts and ends the crawls that a demo has beside its first, while it is shown."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from bowerbird.cli.dashboards.shown import ended
from bowerbird.cli.demo_stage.child import Asked
from bowerbird.cli.demo_stage.others import OTHERS
from bowerbird.settings import process_environment

_PATIENCE = 10.0
"""Seconds that they have to end by themselves."""


@asynccontextmanager
async def in_company(folder: Path, seed: int, say: Callable[[str], object]) -> AsyncIterator[None]:
    """Runs the other crawls in the store of the first while the block runs; whatever befalls them, the block goes on."""
    # Other seeds: people of another network are other people.
    asked = [Asked(name, seed + number, str(folder)) for number, name in enumerate(OTHERS, start=1)]
    running = [await _started(each, folder) for each in asked]
    telling = [asyncio.create_task(_tell(process, say)) for process in running]
    try:
        yield
    finally:
        for task in telling:
            task.cancel()
        for process in running:
            if process.stdin is not None:
                process.stdin.close()
        await asyncio.gather(*(ended(process, _PATIENCE) for process in running))


async def _started(asked: Asked, folder: Path) -> asyncio.subprocess.Process:
    with (folder / f"{asked.name}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bowerbird.cli.demo_stage.child", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=log, env=process_environment(), start_new_session=True,
        )  # fmt: skip
    if process.stdin is not None:
        process.stdin.write(msgspec.json.encode(asked) + b"\n")
    return process


async def _tell(process: asyncio.subprocess.Process, say: Callable[[str], object]) -> None:
    if process.stdout is not None and (line := await process.stdout.readline()):
        say(line.decode().strip())
