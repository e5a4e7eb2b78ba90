"""A worker whose coordinator is not there: what it says, and that it can be ended."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from bowerbird.cli.fleet.working import Ended, work_for
from bowerbird.cli.screens.output import Output
from bowerbird.clock import RealClock
from bowerbird.limits.vault import FileVault
from bowerbird.model import CrawlState
from bowerbird.remote.worker.link import Address


class EndsWhenTold(Output):
    """Somebody who sends a signal as soon as the worker says that it waits."""

    def __init__(self, sent: signal.Signals) -> None:
        super().__init__(as_json=True)
        self.told: list[str] = []
        self._sent = sent

    def progress(self, text: str) -> None:
        self.told.append(text)
        signal.raise_signal(self._sent)


def waited(base: str, output: Output, folder: Path) -> Ended:
    vault = FileVault(folder / "vault")
    return asyncio.run(work_for(Address(base=base, token="w.x"), vault, RealClock(), output, (1, frozenset())))


@pytest.mark.parametrize(("sent", "is_interrupted"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_worker_that_waits_for_its_coordinator_says_why_and_ends_in_order(
    sent: signal.Signals, is_interrupted: bool, tmp_path: Path
) -> None:
    with socket.socket() as nobody:
        # Bound and not listening: whoever connects is refused.
        nobody.bind(("127.0.0.1", 0))
        base, output = f"http://127.0.0.1:{nobody.getsockname()[1]}", EndsWhenTold(sent)
        ended = waited(base, output, tmp_path)
    assert output.told == [f"Waiting (Ctrl-C ends it): the coordinator {base} did not answer: Connection refused"]
    assert (ended.ending.state, ended.was_interrupted) == (CrawlState.STOPPED, is_interrupted)
