"""Processes of a pool end with the command that they work for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

_COMMAND = """
import time
from bowerbird.planning.pools import process_pool

def say(text):
    print(text, flush=True)

if __name__ == "__main__":
    from multiprocessing import active_children
    with process_pool(1, say, "begun") as pool:
        asleep = pool.submit(time.sleep, 600)
        say(active_children()[0].pid)
        asleep.result()
"""


def test_who_is_killed_leaves_no_process_behind_that_works_for_nobody(tmp_path: Path) -> None:
    script = tmp_path / "command.py"
    script.write_text(_COMMAND)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        said = [command.stdout.readline().strip() for _ in range(2)]
        said.remove("begun")
        child = psutil.Process(int(said[0]))
        assert child.is_running()
        command.kill()
    child.wait(60)
