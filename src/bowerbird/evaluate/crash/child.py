"""A real `bowerbird crawl` in a process of its own, to be killed without warning."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from pathlib import Path

from bowerbird.settings import process_environment

_PROGRAM = (sys.executable, "-c", "from bowerbird.cli import main; main()")
_numbers = count(1)
_LAST_WORDS = 2_000


class CrawlProcess:
    """`bowerbird crawl FILE --quiet` with a home of its own."""

    def __init__(self, process: asyncio.subprocess.Process, said: Path) -> None:
        self._process = process
        self._said = said

    @classmethod
    async def start(cls, file: Path, arguments: Sequence[str] = ()) -> CrawlProcess:
        folder = file.parent
        environment = process_environment() | {"BOWERBIRD_HOME": str(folder / "home"), "BOWERBIRD_VAULT": str(folder / "vault")}
        said = folder / f"said-{next(_numbers)}.txt"
        # A file, not a pipe: nobody reads while it runs, and a full pipe would hold it up.
        with said.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *(*_PROGRAM, "crawl", str(file), "--quiet", *arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
            )
        return cls(process, said)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ends_within(self, time: timedelta) -> bool:
        """Waits that long for it to end by itself."""
        try:
            async with asyncio.timeout(time.total_seconds()):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    def stop(self) -> None:
        """SIGSTOP: it does nothing more, and does not know it."""
        self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL, and nothing of it is left when this returns, not even a zombie."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    @property
    def code(self) -> int | None:
        return self._process.returncode

    def last_words(self) -> str:
        return self._said.read_text("utf-8", "replace").strip()[-_LAST_WORDS:]
