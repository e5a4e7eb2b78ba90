"""`bowerbird demo --dashboard` as a process, looked at through a dashboard of the test's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from served import Served


@contextmanager
def running_demo(home: Path, after: timedelta) -> Iterator[Served]:
    """The demo from when all its crawls run, and it has run for so long."""
    demo = subprocess.Popen(
        [sys.executable, "-m", "bowerbird", "demo", "--dashboard", "--no-open", "--port", "0", "--seconds", "3600", "--json"],
        env={**os.environ, "BOWERBIRD_HOME": str(home)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        _wait(demo, after)
        # Whoever does not read what it says holds it up.
        threading.Thread(target=demo.communicate, daemon=True).start()
        with Served(home / "data" / "demo" / "demo.db", "demo.db") as served:
            yield served
    finally:
        demo.send_signal(signal.SIGTERM)
        demo.wait(timeout=120)


def _wait(demo: subprocess.Popen[str], after: timedelta) -> None:
    assert demo.stderr is not None
    told = 0
    for line in demo.stderr:
        told += '"message"' in line
        seconds = float(line.partition('"seconds": ')[2].partition(",")[0] or 0)
        if told >= 3 and seconds >= after.total_seconds():
            return
    raise AssertionError("the demo ended before it could be looked at")
