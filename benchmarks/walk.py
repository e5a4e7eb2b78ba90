"""How far one page and one stream event walk through the house: `python -m benchmarks.walk --json`.

A profiler watches a crawl of the simulated service in virtual time. A page is followed from the moment its answer is there to the
moment the next request goes out: one settle, one lease, one signature. An event is followed from the moment it is received to the
moment everything waits again. `files`: how many of our source files run on the way, `engine_files` those under `crawl/`.
`returns`: how often control comes back from another file to the one that leads the way: how often a reader has to turn back to
it. A coroutine that sleeps or wakes up has not come back. `calls`: how many calls of our own functions that takes, which says
more of the work than seconds on a busy machine. The simulated service, the clock and the benchmark itself are not counted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from dis import opname
from inspect import CO_COROUTINE
from pathlib import Path
from types import FrameType

import msgspec
from msgspec import structs

import bowerbird
from bowerbird.app import open_crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Answer, Ended, Request, Service, Wire
from bowerbird.ports import Clock, Connection, StreamTransport, Transport
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

_HOUSE = str(Path(bowerbird.__file__).parent)
_ASIDE = ("simulated", "evaluate", "clock.py")
_WARM = 30
"""Pages or events that pass before one is followed: first times do more."""


class Walk:
    """Counts which of our files run, and how often each is come back to."""

    def __init__(self, clock: Clock | None = None) -> None:
        """`clock`: the walk is over when its time moves, for then everything waits; None: when it is said to be."""
        self.files: set[str] = set()
        self.returns: Counter[str] = Counter()
        self.calls = 0
        self._clock = clock
        self._passed = 0
        self._began_at: datetime | None = None

    def passed(self) -> None:
        """One page or event has come to the place where the next walk begins."""
        self._passed += 1
        if self._passed == _WARM:
            self._began_at = self._clock.now() if self._clock is not None else None
            sys.setprofile(self._seen)

    def ends(self) -> None:
        """The walk that may have begun is over."""
        sys.setprofile(None)

    def _seen(self, frame: FrameType, event: str, argument: object) -> None:
        here = _name(frame)
        if here is None or _only_waits(frame, event):
            return
        if self._clock is not None and self._clock.now() != self._began_at:
            self.ends()
            return
        self.files.add(here)
        self.calls += event == "call"
        back = _name(frame.f_back) if frame.f_back is not None else None
        if event == "return" and back is not None and back != here:
            self.returns[back] += 1


def _only_waits(frame: FrameType, event: str) -> bool:
    """Whether a coroutine goes to sleep here, or wakes up where it slept: nobody has entered or left it."""
    if not frame.f_code.co_flags & CO_COROUTINE:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    return opname[code[at]] == "YIELD_VALUE" if event == "return" else opname[code[at]] == "RESUME" and code[at + 1] != 0


def _name(frame: FrameType) -> str | None:
    path = frame.f_code.co_filename
    if not path.startswith(_HOUSE):
        return None
    name = path.removeprefix(_HOUSE).lstrip("/")
    return None if name.startswith(_ASIDE) else name


class _Watched:
    """A transport that tells where a walk begins: at every answer, or at every message."""

    def __init__(self, transport: Transport, walk: Walk, *, follows_stream: bool) -> None:
        self._transport = transport
        self._walk = walk
        self._follows_stream = follows_stream

    async def send(self, service: Service, request: Request) -> Answer:
        self._walk.ends()
        answer = await self._transport.send(service, request)
        if not self._follows_stream:
            self._walk.passed()
        return answer

    async def connect(self, service: Service, request: Request, wire: Wire) -> Connection | Answer:
        if not isinstance(self._transport, StreamTransport):
            raise TypeError("this transport holds no connections")
        opened = await self._transport.connect(service, request, wire)
        return opened if isinstance(opened, Answer) else _WatchedConnection(opened, self._walk)

    async def close(self) -> None:
        await self._transport.close()


class _WatchedConnection:
    def __init__(self, connection: Connection, walk: Walk) -> None:
        self._connection = connection
        self._walk = walk

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        said = await self._connection.receive(until)
        self._walk.ends()
        if not isinstance(said, Ended) and any(said):
            self._walk.passed()
        return said

    async def send(self, message: bytes) -> None:
        await self._connection.send(message)

    async def close(self) -> None:
        await self._connection.close()


class Way:
    """What is followed: a crawl of a small world, and where in it a walk begins."""

    def __init__(self, dialect: str, flow: str, more: str, *, follows_stream: bool = False) -> None:
        self._dialect = dialect
        self._flow = flow
        self._more = more
        self._follows_stream = follows_stream

    def walked(self) -> Walk:
        walks: list[Walk] = []
        run_virtual(lambda clock: self._crawl(clock, walks))
        return walks[0]

    async def _crawl(self, clock: VirtualClock, walks: list[Walk]) -> None:
        walks.append(walk := Walk(clock if self._follows_stream else None))
        world = WorldSettings(accounts=200, start=clock.now(), history=timedelta(days=30), longest_history=50)
        laboratory = Laboratory(Setup(dialect=self._dialect, world=world, tokens=1), clock)
        plan = laboratory.plan(self._flow, [] if self._follows_stream else laboratory.keys(40), self._more)
        outside = laboratory.outside()
        transport = _Watched(outside.transport, walk, follows_stream=self._follows_stream)
        async with open_crawl(plan, structs.replace(outside, transport=transport)) as crawl:
            await crawl.process.run(crawl.seeds, slots=1, watch_every=timedelta(days=1))


WAYS = {
    "page": Way("mastodon", 'flow.seeds = ["timeline"]\nflow.facets.timeline.ranker = "fifo"', ""),
    "event": Way("bluesky", 'flow = "listen"', 'stop.duration = "6h"\n[[streams]]\nchannel = "jetstream"\n', follows_stream=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.parse_args()
    figures: dict[str, int | str] = {}
    for name, way in WAYS.items():
        walk = way.walked()
        sys.setprofile(None)
        for file in sorted(walk.files):
            print(f"{name:>6}  {file:<45} {walk.returns[file]:>4} returns")
        engine = [file for file in walk.files if file.startswith("crawl/")]
        leader = max(engine, key=lambda file: walk.returns[file])
        figures |= {
            f"{name}_files": len(walk.files),
            f"{name}_engine_files": len(engine),
            f"{name}_calls": walk.calls,
            f"{name}_leader": leader,
            f"{name}_returns": walk.returns[leader],
        }
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    main()
