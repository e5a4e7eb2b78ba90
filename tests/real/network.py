"""The network as a process: started, filled, told what to do, and ended whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from machine import Machine

from bowerbird.evaluate.postgres import start_postgres

_SCRIPT = Path(__file__).with_name("network.mjs")
_PATIENCE = timedelta(minutes=6)
"""For one command on a machine that has other things to do, too."""
_LONGEST_LINE = 64 * 1024 * 1024
_LAST_WORDS = 3_000


class NetworkFailed(Exception):
    """The network did not start or did not do as told; says what it said last."""


class Network:
    """A running network; its addresses, and commands to it."""

    def __init__(self, process: asyncio.subprocess.Process, said: Path) -> None:
        self._process = process
        self._said = said
        self.pds = ""
        self.appview = ""

    async def boot(self) -> None:
        addresses = await self._answer("ready")
        self.pds, self.appview = addresses["pds"], addresses["appview"]

    async def command(self, name: str, **given: Any) -> Any:
        """Has the network do something (`commands` in network.mjs); its answer."""
        if self._process.stdin is None:
            raise NetworkFailed("the network takes no commands")
        self._process.stdin.write(msgspec.json.encode({"command": name, **given}) + b"\n")
        return await self._answer("done")

    async def _answer(self, name: str) -> Any:
        """The next line that is an answer; the packages may print lines of their own."""
        if self._process.stdout is None:
            raise NetworkFailed("the network does not answer")
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()):
                while line := await self._process.stdout.readline():
                    answer = msgspec.json.decode(line) if line.startswith(b'{"') else {}
                    if "failed" in answer:
                        raise NetworkFailed(answer["failed"])
                    if name in answer:
                        return answer[name]
        except TimeoutError:
            raise NetworkFailed(f"the network has not answered for {_PATIENCE}") from None
        raise NetworkFailed(f"the network ended: {self._said.read_text('utf-8', 'replace')[-_LAST_WORDS:]}")


@asynccontextmanager
async def started(machine: Machine, folder: Path, **size: int) -> AsyncIterator[Network]:
    """A fresh network that keeps everything in `folder`."""
    with start_postgres() as postgres:
        settings = {"modules": str(machine.modules), "postgres": postgres, **size}
        said = folder / "network.txt"
        with said.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *(str(machine.node), "--no-deprecation", str(_SCRIPT), msgspec.json.encode(settings).decode()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=output,
                limit=_LONGEST_LINE,
                # The AppView insists on the name of a Redis server, but this version never connects to one.
                env={"HOME": str(folder), "TMPDIR": str(folder), "REDIS_HOST": "127.0.0.1:1", "LOG_ENABLED": "false"},
            )
        try:
            network = Network(process, said)
            await network.boot()
            yield network
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
