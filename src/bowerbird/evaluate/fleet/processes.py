"""Real processes of a fleet, each with a clock of its own that is wrong, to be killed, stopped and started again."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import timedelta
from itertools import count
from pathlib import Path

from msgspec import Struct

from bowerbird.settings import process_environment

_SKEWED = "from bowerbird.evaluate.fleet.skewed import set_clock; set_clock()"
_PROGRAM = (sys.executable, "-c", f"{_SKEWED}; from bowerbird.cli import main; main()")
_LAST_WORDS = 1_500
_numbers = count(1)


class Part(Struct, frozen=True, kw_only=True):
    """What one process of the fleet is, however often it is started."""

    name: str
    arguments: tuple[str, ...]
    ahead: timedelta
    """How far its clock is."""
    vault: Path
    folder: Path


class FleetProcess:
    """One `bowerbird …`, started again after each kill."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self._said = part.folder / f"{part.name}.txt"
        self._process: asyncio.subprocess.Process | None = None
        self.starts = self.kills = 0

    async def start(self) -> None:
        part = self.part
        home = {"BOWERBIRD_HOME": str(part.folder / "home"), "BOWERBIRD_VAULT": str(part.vault)}
        self.starts += 1
        # A file, not a pipe: nobody reads while it runs, and a full pipe would hold it up.
        with self._said.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *(*_PROGRAM, str(part.ahead.total_seconds()), *part.arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=process_environment() | home,
            )

    @property
    def code(self) -> int | None:
        return None if self._process is None else self._process.returncode

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL, and nothing of it is left when this returns."""
        self.kills += 1
        self.signal(signal.SIGKILL)
        if self._process is not None:
            await self._process.wait()

    def last_words(self) -> str:
        return self._said.read_text("utf-8", "replace").strip()[-_LAST_WORDS:]
