"""Keeps the parts of a crawl alive for months: a part that crashes is started again, one that falls silent is named and, after an
hour, started again too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Any

from msgspec import Struct

from bowerbird.crawl.process.restarts import keep_running
from bowerbird.ports import Clock, Part

_LAST_WAIT = timedelta(seconds=16)
"""After so many crashes in a row a part that only has to finish is given up."""
_LONGEST_FAULT = 300
RELAUNCH = timedelta(hours=1)
"""A silence after which a part is started again, as the dynamic collector's own watchdog did."""
_LAST_BREATH = timedelta(seconds=30)
"""How long a silent part may take to let go of what it holds."""

Noted = Callable[[str, str], Awaitable[None]]
"""Writes down what happened to a part: its name and the words."""


class _Watched(Struct, frozen=True):
    """What must not be silent for long, and where it runs."""

    task: asyncio.Task[Any]
    is_alive_since: Callable[[], datetime]
    silence: timedelta
    relaunch: Callable[[], Awaitable[None]] | None
    """Breaks off what it waits for and starts it again."""
    since: datetime
    """When it was started: no older sign of life counts."""


class Supervisor:
    """Runs parts at the same time; none of them can take the crawl down."""

    def __init__(self, clock: Clock, noted: Noted) -> None:
        self._clock = clock
        self._noted = noted
        self._running: dict[str, asyncio.Task[None]] = {}
        self._watched: dict[str, _Watched] = {}
        self._parts: dict[str, Part] = {}
        self._silent: set[str] = set()
        self._is_finishing = False
        self._is_ending = False
        self.restarts = 0

    def start(self, part: Part) -> None:
        self._parts[part.name] = part
        task = self._running[part.name] = asyncio.create_task(self._keep(part), name=part.name)
        if part.is_alive_since is not None:
            since = self._clock.now()
            self._watched[part.name] = _Watched(task, part.is_alive_since, part.silence, lambda: self._start_again(part), since)

    def pause(self, is_paused: bool) -> None:
        for part in self._parts.values():
            if part.pause is not None:
                part.pause(is_paused)

    def attend(
        self,
        name: str,
        task: asyncio.Task[Any],
        is_alive_since: Callable[[], datetime],
        silence: timedelta,
        relaunch: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Watches what somebody else runs in a task of his own, who says how it is started again."""
        self._watched[name] = _Watched(task, is_alive_since, silence, relaunch, self._clock.now())

    def dismiss(self, name: str) -> None:
        """What has come to its end need not be watched any more."""
        self._watched.pop(name, None)

    async def finish(self, patience: timedelta, enough: asyncio.Event, until: datetime) -> None:
        """Lets parts do what is left to do after the last call; ends when they have, when it is time, or when it is enough."""
        last = [part for part in self._parts.values() if part.finish is not None]
        if not last:
            return
        # First those that would bring more to do.
        await self._close([name for name, part in self._parts.items() if part.finish is None], patience)
        self._is_finishing = True
        for part in last:
            if part.finish is not None:
                part.finish()
        await self._wait([self._running[part.name] for part in last], until, enough)

    async def end(self, patience: timedelta) -> None:
        """Ends every part, in order where it can; what does not end in time is cancelled."""
        self._is_ending = True
        await self._close(list(self._running), patience)

    async def _close(self, names: list[str], patience: timedelta) -> None:
        for name in names:
            ended = self._parts[name].end
            if ended is not None:
                ended()
            else:
                self._running[name].cancel()
        running = [self._running.pop(name) for name in names]
        if running:
            await self._wait(running, self._clock.now() + patience, asyncio.Event())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def look(self) -> None:
        """Names each part that has been silent for too long, once per silence, and starts again what stays so for an hour."""
        for name, part in list(self._watched.items()):
            if part.task.done():
                continue
            silent_for = self._silence(part)
            if silent_for <= part.silence:
                self._silent.discard(name)
            elif silent_for > max(RELAUNCH, part.silence) and part.relaunch is not None:
                await self._noted(
                    name, f"silent for {_spelled(silent_for)}, so it is started again; it waited at: {_place(part.task)}"
                )
                await part.relaunch()
            elif name not in self._silent:
                self._silent.add(name)
                await self._noted(name, f"no sign of life for {_spelled(silent_for)}; waits at: {_place(part.task)}")

    def longest_silence(self) -> timedelta:
        """For how long the most silent of those watched has shown no sign of life."""
        return max((self._silence(part) for part in self._watched.values() if not part.task.done()), default=timedelta(0))

    def _silence(self, part: _Watched) -> timedelta:
        return self._clock.now() - max(part.is_alive_since(), part.since)

    async def _start_again(self, part: Part) -> None:
        """A part that does not stop in time is not started again, because two of it would do harm. The next look tries again."""
        task = self._running[part.name]
        task.cancel()
        await self._wait([task], self._clock.now() + _LAST_BREATH, asyncio.Event())
        if task.done() and not self._is_ending:
            self.restarts += 1
            self._silent.discard(part.name)
            self.start(part)

    async def _keep(self, part: Part) -> None:
        async def crashed(error: Exception, wait: timedelta) -> bool:
            if self._is_ending:
                return False
            await self._note_crash(part.name, error, wait)
            if self._is_finishing and wait >= _LAST_WAIT:
                return False
            self.restarts += 1
            return True

        with suppress(Exception):
            await keep_running(part.run, self._clock, crashed)

    async def _note_crash(self, name: str, error: Exception, wait: timedelta) -> None:
        # If the database refuses even this note, the restart matters more than its record.
        with suppress(Exception):
            await self._noted(name, crash_words(error, wait))

    async def _wait(self, tasks: list[asyncio.Task[None]], until: datetime, done: asyncio.Event) -> None:
        gathered = asyncio.gather(*tasks, return_exceptions=True)
        gathered.add_done_callback(lambda _: done.set())
        await self._clock.wait(done, until)


def _place(task: asyncio.Task[Any]) -> str:
    return " ← ".join(islice(stack_lines(task), 3)) or "an unknown place"


def stack_lines(task: asyncio.Task[Any]) -> Iterator[str]:
    """Where a task waits, innermost place first."""
    for frame in reversed(list(_frames(task.get_coro()))):
        yield f"{_file(frame)}:{frame.f_lineno} {frame.f_code.co_name}"


def _frames(waiting: Any) -> Iterator[FrameType]:
    """The frames of a coroutine and of what it awaits; a task's own stack shows only the outermost."""
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None) or getattr(waiting, "ag_frame", None)
        if frame is not None:
            yield frame
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)


def crash_words(error: Exception, wait: timedelta) -> str:
    """What happened, where, and what comes next."""
    return f"crashed with {fault_words(error)}; starts again in {_spelled(wait)}"


def fault_words(error: Exception) -> str:
    """What happened and where, in few words that any database takes: the error may quote what a server sent."""
    said = str(error)[:_LONGEST_FAULT].replace("\0", "").encode("utf-8", "replace").decode()
    return f"{type(error).__name__}: {said}; at {_origin(error)}"


def _origin(error: Exception) -> str:
    """File and line where it was raised: the innermost place in our own code, if it went through that."""
    places = list(walk_tb(error.__traceback__))
    ours = [place for place in places if "bowerbird" in Path(place[0].f_code.co_filename).parts]
    if not places:
        return "an unknown place"
    frame, line = (ours or places)[-1]
    return f"{_file(frame)}:{line}"


def _file(frame: FrameType) -> str:
    """The file with the folder it is in; the rest of the path is this machine's business."""
    return "/".join(Path(frame.f_code.co_filename).parts[-2:])


def _spelled(span: timedelta) -> str:
    return f"{span.total_seconds():.0f} s"
