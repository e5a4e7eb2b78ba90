"""Who this process is, and whether another one of the same machine still runs.

Neither a host name nor the number of a process is anybody's own: containers share names and all begin to count at 1, and numbers
come again. A process is told by the boot of its machine and the namespace of its number, by that number, and by when it started.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path
from uuid import getnode, uuid4

from msgspec import Struct

_STARTED = 19
"""Which of the words behind the name, in `/proc/PID/stat`, says when it started, in ticks since the boot."""


_ENDED = (["Z"], ["X"])
"""The states of processes that do nothing any more."""


class Process(Struct, frozen=True):
    """A process as others can tell it from all others."""

    identity: str
    """Random, made at its start."""
    host: str
    place: str
    """Where its number means something: this boot of this machine, this namespace."""
    pid: int
    started: int | None
    """None where the system does not tell."""


def myself() -> Process:
    """This process; one that was forked off is another."""
    return _myself(os.getpid())


@cache
def _myself(pid: int) -> Process:
    return Process(uuid4().hex, socket.gethostname(), _place(), pid, _started(pid))


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        # Elsewhere than on Linux processes are numbered by machine.
        return f"{socket.gethostname()} {getnode():012x}"


def runs(pid: int, started: int | None) -> bool:
    """Whether the process of that number, in our own place, is still the one that started then."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It is somebody's: that much is known.
        pass
    words = _stat(pid)
    # Who was killed keeps its number until whoever started it has asked how it ended: a notebook may never do that.
    return words[:1] not in _ENDED and (started is None or _time(words) in (None, started))


def _started(pid: int) -> int | None:
    return _time(_stat(pid))


def _stat(pid: int) -> list[str]:
    try:
        # The name may hold anything, brackets too; behind the last one come the state and numbers.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _time(words: list[str]) -> int | None:
    try:
        return int(words[_STARTED])
    except (ValueError, IndexError):
        return None
