"""A network whose credentials log in: logins have limits of their own, and a refused one holds up nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from bowerbird.app import open_crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import BASE, Laboratory
from bowerbird.model import Request, Secret, Service
from bowerbird.ports import Database
from bowerbird.providers import Bluesky
from bowerbird.simulated.service import Setup
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.world import WorldSettings

START = datetime(2026, 1, 9, 12, tzinfo=UTC)
SMALL = WorldSettings(accounts=60, seed=5, following=8.0, longest_history=400)
SEARCH = 'flow.seeds = ["hashtag"]\nflow.facets.hashtag.ranker = "fifo"'
"""Asked with a session only."""


def in_laboratory(tokens: int, work: Callable[[Laboratory], Awaitable[Any]]) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(dialect="bluesky", world=SMALL, tokens=tokens), clock))

    return run_virtual(main, start=START)


async def rows(database: Database, sql: str) -> list[tuple[Any, ...]]:
    async with database.reading() as tx:
        return [tuple(row) for row in await tx.fetch(sql)]


async def use_up_logins(laboratory: Laboratory, account: str) -> None:
    """Somebody else on the same account and address has guessed too often."""
    guess: Request = Bluesky().login(Secret(name="x", values={"identifier": account, "app_password": "guess"}))
    transport = InProcessTransport({"other": laboratory.service}, laboratory.clock)
    for _ in range(30):
        await transport.send(Service(name="other", provider="bluesky", base=BASE), guess)


def test_a_refused_login_is_booked_on_the_limits_of_logins_and_tried_again_when_they_allow_it() -> None:
    async def work(laboratory: Laboratory) -> None:
        await use_up_logins(laboratory, "user0")
        async with laboratory.crawl(laboratory.plan(SEARCH, ["football", "music"])) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert timedelta(minutes=4) < laboratory.clock.now() - START < timedelta(minutes=7)
            refused = await rows(crawl.database, "select bucket, refused from ledgers where refused > 0")
            assert refused == [("simulated/account:user0/login", 1)]
            assert await rows(crawl.database, "select distinct outcome from calls where state = 'settled'") == [("ok",)]
            said = await rows(crawl.database, "select part, outcome from errors")
            assert said == [("login", "rate_limited")] * len(said)
            assert 1 <= len(said) <= 2
            failed = await rows(crawl.database, "select count(*) from tasks where state = 'failed' or attempts > 0")
            assert failed == [(0,)]

    in_laboratory(1, work)


def test_another_credential_goes_on_meanwhile() -> None:
    async def work(laboratory: Laboratory) -> None:
        await use_up_logins(laboratory, "user0")
        async with laboratory.crawl(laboratory.plan(SEARCH, ["football", "music", "news"])) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            assert laboratory.clock.now() - START < timedelta(minutes=1)
            used = await rows(crawl.database, "select distinct credential from calls where state = 'settled'")
            assert used == [("user2",)]

    in_laboratory(2, work)


def test_a_session_that_is_kept_costs_no_login() -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(laboratory.plan(SEARCH, ["football", "music"])) as crawl:
            await laboratory.run(crawl)
            spent = await rows(crawl.database, "select bucket, spent from ledgers where bucket like '%login%' order by bucket")
            assert spent == [("simulated/account:user0/login", 1), ("simulated/account:user0/login_day", 1)]

    in_laboratory(1, work)


def test_a_wrong_password_fails_the_crawl_after_a_few_logins_and_spoils_no_other_limit() -> None:
    async def work(laboratory: Laboratory) -> None:
        outside = laboratory.outside()
        name = outside.vault.credentials()[0].name
        known = outside.vault.secret(name)
        outside.vault.keep(structs.replace(known, values={**known.values, "app_password": "wrong"}))
        async with open_crawl(laboratory.plan(SEARCH, ["football", "music", "news"]), outside) as crawl:
            assert (await laboratory.run(crawl)).state == "failed"
            (logins,) = await rows(crawl.database, "select spent from ledgers where bucket like '%/login_day'")
            assert logins[0] <= 10
            allowed = await rows(crawl.database, "select allowance from ledgers where bucket not like '%login%'")
            assert min(allowed) >= (3000,)

    in_laboratory(1, work)
