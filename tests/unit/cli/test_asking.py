"""Questions in a terminal, asked while a loop runs."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys

import pytest

ASKING = """
import asyncio
from bowerbird.cli.asking import answered, confirmed

async def main():
    {question}

asyncio.run(main())
"""


@pytest.mark.parametrize("question", ["confirmed('Go on?')", "answered('Which?', default='u')"])
def test_one_ctrl_c_ends_a_question(question: str) -> None:
    here, there = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", ASKING.format(question=question)],
        stdin=there,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = b""
    while not said.rstrip().endswith(b":"):
        more = os.read(process.stderr.fileno(), 100)
        assert more, said
        said += more
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    os.close(here)
    os.close(there)
    assert process.returncode != 0
    assert b"Abort" in told
