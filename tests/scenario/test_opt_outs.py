"""Crawls that decide about opt-outs: what they override is collected and told, and who is on their list is in no store."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.export.card.markdown import as_markdown
from bowerbird.export.card.sheet import Told, make_sheet
from bowerbird.flows.consent import Consent
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.card_words import CardWords
from bowerbird.model import Signal
from bowerbird.ports import Row
from bowerbird.reports.dataset.facts import read_facts
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from failures import raises_code
from marks import long_on_postgresql

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(accounts=14, seed=5, following=4.0, longest_history=30)
SHY = "select count(*) as shy from users where opts_out = 1"
ONCE = """
flow.seeds = ["profiles"]
flow.facets.profiles.ranker = "fifo"
flow.facets.timeline.ranker = "fifo"
flow.edges = [{from = "profiles", to = "timeline", take = "asked", when = "news"}]
"""
OF_SHY = "select count(*) as n from posts p join users u on u.user_no = p.author where u.id {} and p.text is not null"


@pytest.fixture
def store(database_url: str, tmp_path: Path) -> str:
    return str(tmp_path / "crawl.db") if database_url == ":memory:" else database_url


def in_laboratory(work: Callable[[Laboratory], Awaitable[Any]]) -> None:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(dialect="mastodon", world=WORLD), clock))

    run_virtual(main, start=START)


async def rows(crawl: Crawl, sql: str, *values: Any) -> list[Row]:
    async with crawl.database.reading() as tx:
        return list(await tx.fetch(sql, *values))


async def value(crawl: Crawl, sql: str, *values: Any) -> Any:
    return (await rows(crawl, sql, *values))[0][0]


def planned(laboratory: Laboratory, store: str, consent: Consent, name: str = "study") -> CrawlPlan:
    plan = laboratory.plan(ONCE, laboratory.keys(), store=store)
    return msgspec.structs.replace(plan, consent=consent, name=name)


async def card(laboratory: Laboratory, crawl: Crawl) -> str:
    facts = await read_facts(crawl.database, laboratory.clock.now())
    return as_markdown(make_sheet(Told(facts=facts, words=CardWords())))


@long_on_postgresql
def test_what_is_overridden_is_collected_and_the_card_says_why(store: str) -> None:
    signals = (Signal.INDEXABLE, Signal.NOBOT, Signal.NOINDEX)

    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(planned(laboratory, store, Consent())) as crawl:
            await laboratory.run(crawl)
            shy = [row["id"] for row in await rows(crawl, "select id from users where opts_out = 1")]
            assert shy
            before = await card(laboratory, crawl)
            assert [line for line in before.splitlines() if "indexable (Mastodon" in line] == []
        overrides = Consent(override=signals, reason="Protocol 17.")
        async with laboratory.crawl(planned(laboratory, store, overrides, "again")) as crawl:
            await laboratory.run(crawl)
            assert await value(crawl, SHY) == 0
            several = f"in ({', '.join('?' * len(shy))})"
            assert await value(crawl, OF_SHY.format(several), *shy) > 0
        # Whoever takes it back later still has the data, and the card still says so.
        async with laboratory.crawl(planned(laboratory, store, Consent(), "again")) as crawl:
            told = await card(laboratory, crawl)
            assert "indexable (Mastodon" in told
            assert "Protocol 17." in told

    in_laboratory(work)


@long_on_postgresql
def test_signs_that_count_beyond_the_usual_ones_keep_more_people_out(store: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(planned(laboratory, store, Consent())) as crawl:
            await laboratory.run(crawl)
            before = await value(crawl, SHY)
        async with laboratory.crawl(planned(laboratory, store, Consent(also=(Signal.DISCOVERABLE,)), "again")) as crawl:
            await laboratory.run(crawl)
            assert await value(crawl, SHY) > before

    in_laboratory(work)


@long_on_postgresql
def test_whoever_is_on_the_list_leaves_the_store_and_stays_out(store: str, tmp_path: Path) -> None:
    asked = (
        "select u.user_no, u.id, u.handle from users u where u.handle is not null and coalesce(u.opts_out, 0) = 0 "
        "and exists (select 1 from posts p where p.author = u.user_no) order by u.user_no limit 1"
    )

    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(planned(laboratory, store, Consent())) as crawl:
            await laboratory.run(crawl)
            (known,) = await rows(crawl, asked)
            before = (await card(laboratory, crawl)).splitlines()
        path = tmp_path / "not.txt"
        path.write_text(f"# she wrote us\n@{known['handle']}\n", "utf-8")
        listed = Consent(opt_out=str(path))
        for name in ("second", "third"):
            async with laboratory.crawl(planned(laboratory, store, listed, name)) as crawl:
                assert await value(crawl, "select count(*) as n from users where id = ?", known["id"]) == 0
                await laboratory.run(crawl)
                assert await value(crawl, "select count(*) as n from users where id = ?", known["id"]) == 0
                assert await value(crawl, "select count(*) as n from posts where author = ?", known["user_no"]) == 0
                assert await value(crawl, "select count(*) as n from posts") > 0
                assert await value(crawl, "select count(*) as n from forget_requests") == 1
                told = await card(laboratory, crawl)
                # One line tells of the list, one of the request that was carried out.
                added = [line for line in told.splitlines() if line not in before]
                assert [line for line in added if re.search(r"\blist\b", line)]
                assert [line for line in added if re.search(r"\b1\b", line) and "remove" in line]

    in_laboratory(work)


def test_a_list_with_rubbish_stops_the_crawl_before_its_first_call(store: str, tmp_path: Path) -> None:
    path = tmp_path / "not.txt"
    path.write_text("what is this?\n", "utf-8")

    async def work(laboratory: Laboratory) -> None:
        with raises_code(UserError, "not_understood") as caught:
            async with laboratory.crawl(planned(laboratory, store, Consent(opt_out=str(path)))):
                pytest.fail("it was opened")
        assert caught.value.problem.startswith(f"{path}:1: ")

    in_laboratory(work)
