"""The machine that the dashboard runs on: load, memory, disk, and our own processes on it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import psutil
from msgspec import Struct

from bowerbird.crawl.process.workers.identity import myself
from bowerbird.model import WorkerState
from bowerbird.reports.working.workers import WorkerLine


class Disk(Struct, frozen=True, kw_only=True):
    """A disk, and where on it something of ours lies."""

    place: str
    total: int
    free: int

    @property
    def used(self) -> float:
        return 1 - self.free / max(1, self.total)


class OurProcess(Struct, frozen=True, kw_only=True):
    """A process of ours."""

    pid: int
    what: str
    memory: int
    processor: float
    """Seconds of processor time that it took."""
    threads: int
    files: int | None
    started_at: datetime


class Machine(Struct, frozen=True, kw_only=True):
    """One look at it."""

    host: str
    cores: int
    load: tuple[float, float, float]
    busy: float
    """Part of all cores, since the last look."""
    memory_total: int
    memory_free: int
    swap_total: int
    swap_used: int
    disk: Disk
    processes: list[OurProcess]
    up_since: datetime

    @property
    def memory_used(self) -> float:
        return 1 - self.memory_free / max(1, self.memory_total)


def look(place: str, workers: Iterable[WorkerLine]) -> Machine:
    """`place`: a file or folder on the disk to tell of; `workers`: those of the store."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    one, five, fifteen = psutil.getloadavg()
    here = myself().host
    named = {
        each.pid: f"worker {each.worker} of {each.crawl}"
        for each in workers
        if each.host == here and each.state is WorkerState.RUNNING
    }
    named[os.getpid()] = named.get(os.getpid(), "this dashboard")
    return Machine(
        host=here,
        cores=psutil.cpu_count() or 1,
        load=(one, five, fifteen),
        busy=psutil.cpu_percent(interval=None) / 100,
        memory_total=memory.total,
        memory_free=memory.available,
        swap_total=swap.total,
        swap_used=swap.used,
        disk=disk(place),
        processes=[own for pid, what in sorted(named.items()) for own in _process(pid, what)],
        up_since=datetime.fromtimestamp(psutil.boot_time(), UTC),
    )


def disk(place: str) -> Disk:
    folder = Path(place).parent if place and Path(place).exists() else Path.cwd()
    usage = psutil.disk_usage(str(folder))
    return Disk(place=str(folder), total=usage.total, free=usage.free)


def _process(pid: int, what: str) -> list[OurProcess]:
    """Nothing where it has just ended, or is not ours to look at."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            return [
                OurProcess(
                    pid=pid,
                    what=what,
                    memory=process.memory_info().rss,
                    processor=times.user + times.system,
                    threads=process.num_threads(),
                    files=process.num_fds() if hasattr(process, "num_fds") else None,
                    started_at=datetime.fromtimestamp(process.create_time(), UTC),
                )
            ]
    except psutil.Error:
        return []
