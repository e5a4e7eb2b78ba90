"""A stream that is billed by the post, killed without warning and started again: what was billed is booked, no cap exceeded."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from bowerbird.clock import RealClock
from bowerbird.evaluate.crash.child import CrawlProcess
from bowerbird.limits.vault import FileVault
from bowerbird.model import Credential, Secret
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.tokens import secret_values
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.tags import tag_name
from bowerbird.simulated.x_v2 import XV2Dialect

BUDGET = 2_400
"""Thousandths of a dollar: 480 posts, which come in some ten seconds."""
RULES = " OR ".join(f"#{tag_name(number)}" for number in range(20))
FILE = """\
flow = "listen"
store = "{store}"
stop.dollars = {dollars}
[service]
name = "simulated"
provider = "x"
base = "{base}"
[[streams]]
channel = "filter"
rules = ["{rules}"]
"""
MOMENT = timedelta(milliseconds=20)


def service_on_x() -> SimulatedService:
    """A world in which an hour takes a second and a half."""
    now = RealClock().now()
    world = WorldSettings(accounts=300, start=now, since=now, pace=2400.0, posts_per_day=40.0, longest_history=20)
    return simulate(Setup(dialect="x", world=world, tokens=1, app_tokens=1))


def billed(service: SimulatedService) -> int:
    """Thousandths of a dollar on the service's own meter."""
    assert isinstance(service.dialect, XV2Dialect)
    apps = {token.app for token in service.tokens}
    return sum(service.dialect.meter.spent(app, RealClock().now()) for app in apps)


def booked(store: Path) -> dict[str, int]:
    """By purse what our own ledgers call spent, with what is still held back for calls that nobody has ended."""
    with closing(sqlite3.connect(store)) as database, database:
        rows = database.execute("select bucket, spent + in_flight from ledgers where bucket like '%money%'").fetchall()
    return dict(rows)


async def killed(file: Path, is_enough: Callable[[], bool]) -> None:
    """One life of a crawl, ended by SIGKILL as soon as there is enough."""
    process = await CrawlProcess.start(file, ["--yes"])
    try:
        while not is_enough():
            assert not await process.ends_within(MOMENT), process.last_words()
    finally:
        await process.kill()


def has_hung_up(store: Path) -> bool:
    """Whether the stream waits for money that it may not spend."""
    with closing(sqlite3.connect(store)) as database, database:
        rows = database.execute("select reason from streams").fetchall()
    return rows == [("the dollars allowed are spent",)]


def written(folder: Path, service: SimulatedService, base: str) -> Path:
    token = next(token for token in service.tokens if token.kind == "app")
    credential = Credential(name="app", provider="x", kind="app", account=token.account, app=token.app, servers=(base,))
    FileVault(folder / "vault").add(credential, Secret(name="app", values=secret_values(token)))
    file = folder / "a.toml"
    file.write_text(FILE.format(store=folder / "a.db", dollars=BUDGET / 1000, base=base, rules=RULES))
    return file


async def test_what_a_killed_stream_was_billed_is_in_the_ledger_and_under_the_cap(tmp_path: Path) -> None:
    service, store = service_on_x(), tmp_path / "a.db"
    async with serve(service, RealClock()) as base:
        file = written(tmp_path, service, base)
        await killed(file, lambda: billed(service) >= BUDGET / 8)
        first = booked(store)
        assert all(billed(service) <= spent for spent in first.values()), "with what was in flight when it died"
        assert billed(service) < BUDGET
        await killed(file, lambda: has_hung_up(store))
    assert len(first) == 2, "the purse of the service, and that of the crawl"
    assert billed(service) > 0.3 * BUDGET, "it went on after its death"
    assert all(billed(service) <= spent <= BUDGET for spent in booked(store).values())
    assert min(booked(store).values()) > 0.5 * BUDGET, "and hung up when little more than two busy seconds were left"
