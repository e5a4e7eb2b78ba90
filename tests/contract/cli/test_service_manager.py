"""What systemd hears of a crawl: that it is ready, that it is alive, that it ends; and nothing from one that is stuck."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bowerbird.cli.live.beat import heard_by
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.settings import Manager, service_manager

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.setblocking(False)
        yield ear


def heard(ear: socket.socket) -> list[str]:
    words = []
    while True:
        try:
            words.append(ear.recv(100).decode())
        except BlockingIOError:
            return words


def told(ear: socket.socket, silence: timedelta, watchdog: timedelta | None = 10 * MINUTE) -> list[str]:
    async def main(clock: VirtualClock) -> None:
        async with heard_by(Manager(ear.getsockname(), watchdog), lambda: silence, clock):
            await clock.sleep_until(clock.now() + 21 * MINUTE)

    run_virtual(main)
    return heard(ear)


def test_a_living_crawl_says_so_twice_per_period(listening: socket.socket) -> None:
    assert told(listening, timedelta(0)) == ["READY=1", *["WATCHDOG=1"] * 5, "STOPPING=1"]


def test_a_crawl_that_could_not_be_started_again_by_itself_falls_silent(listening: socket.socket) -> None:
    assert told(listening, HOUR) == ["READY=1", *["WATCHDOG=1"] * 5, "STOPPING=1"]
    assert told(listening, 2 * HOUR) == ["READY=1", "STOPPING=1"]


def test_without_a_watchdog_only_begin_and_end_are_told(listening: socket.socket) -> None:
    assert told(listening, timedelta(0), None) == ["READY=1", "STOPPING=1"]


def test_a_manager_that_does_not_listen_does_no_harm(tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> str:
        async with heard_by(Manager(str(tmp_path / "nobody"), MINUTE), timedelta, clock):
            await clock.sleep_until(clock.now() + 5 * MINUTE)
        return "done"

    assert run_virtual(main) == "done"


def test_the_environment_says_who_listens() -> None:
    assert service_manager({}) is None
    assert service_manager({"NOTIFY_SOCKET": "relative"}) is None
    assert service_manager({"NOTIFY_SOCKET": "/run/n"}) == Manager("/run/n", None)
    assert service_manager({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "60000000"}) == Manager("@n", MINUTE)
    assert service_manager({"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}) == Manager(
        "/run/n", None
    )
