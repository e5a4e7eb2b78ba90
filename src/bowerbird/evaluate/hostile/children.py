"""Each scene in a process of its own: whatever happens to it happens to nobody else, and its memory is measured and bounded.

A fork begins with its parent's memory, so these figures are about a scene only where the parent is small: the command itself.
"""

from __future__ import annotations

import multiprocessing
import re
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

import msgspec

from bowerbird.evaluate.hostile.scenes import Scene
from bowerbird.evaluate.hostile.stage import Verdict

MOST_MEMORY = 3 * 1024 * 1024 * 1024
"""Bytes of address space: far above what is allowed, so that excess is measured, and far below what would hurt the machine."""
_PATIENCE = timedelta(minutes=4)
Play = Callable[[Scene, Path], Verdict]


def play_all(scenes: Sequence[Scene], play: Play, jobs: int) -> Iterator[tuple[Scene, Verdict]]:
    """Plays the scenes, so many at a time, each in a fork of this process; gives them back as they end."""
    waiting, running = list(reversed(scenes)), dict[Connection, tuple[Scene, ForkProcess]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            scene = waiting.pop()
            running |= _started(scene, play)
        heard = wait(list(running), timeout=_PATIENCE.total_seconds())
        for ear in [each for each in running if each in heard] or list(running):
            scene, process = running.pop(ear)
            yield scene, _heard(ear, process)


def _started(scene: Scene, play: Play) -> dict[Connection, tuple[Scene, ForkProcess]]:
    context = multiprocessing.get_context("fork")
    ear, mouth = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(scene, play, mouth))
    process.start()
    mouth.close()
    return {ear: (scene, process)}


def _child(scene: Scene, play: Play, mouth: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    with tempfile.TemporaryDirectory(prefix="bb-hostile-") as folder:
        try:
            verdict = play(scene, Path(folder))
        except BaseException as error:
            verdict = Verdict(crashed=1, words=[f"{type(error).__name__}: {error}"[:300]])
    verdict.peak_mb = round(_high_water() / 1024, 1)
    mouth.send_bytes(msgspec.json.encode(verdict))


def _high_water() -> int:
    """The most memory this process itself ever held, in KiB.

    Not `ru_maxrss` where there is better: a process that was started by a large one answers with that one's size.
    """
    try:
        told = re.search(r"^VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        told = None
    return int(told[1]) if told else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _heard(ear: Connection, process: ForkProcess) -> Verdict:
    """What the child says; one that says nothing has died or hangs."""
    try:
        if ear.poll():
            return msgspec.json.decode(ear.recv_bytes(), type=Verdict)
        process.kill()
        return Verdict(wedged=1, words=["the scene itself does not end"])
    except EOFError:
        process.join()
        return Verdict(crashed=1, words=[f"the process died with {process.exitcode}"])
    finally:
        process.join()
        ear.close()
