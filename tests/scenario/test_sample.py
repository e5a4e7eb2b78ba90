"""The flow `sample` in virtual time: what walkers say about networks whose truth is known, and when they stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from bowerbird.cli import run as run_command
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.evaluate.sampling import METHODS, Size, evaluate_sampling
from bowerbird.reports.studies.sample import Figure, Sample, read_samples
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.world import Availability
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
WORLD = WorldSettings(accounts=300, seed=5, following=8.0, longest_history=5, until=START)
NEVER = "stop.half_width = 0.0001"


def in_laboratory(work: Callable[[Laboratory], Awaitable[Any]], dialect: str = "twitter_v1") -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(dialect=dialect, world=WORLD, tokens=4), clock))

    return run_virtual(main, start=START)


def open_accounts(laboratory: Laboratory) -> list[int]:
    """Those whose lists anybody can read; on Mastodon also the protected ones, but not those who hide whom they know."""
    truth, hides = laboratory.service.truth, laboratory.service.world.people.hides_network
    if laboratory.service.dialect.name != "mastodon":
        return [n for n in range(WORLD.accounts) if truth.is_available(n, START)]
    shown = (Availability.OPEN, Availability.PROTECTED)
    return [n for n in range(WORLD.accounts) if truth.availability(n, START) in shown and not hides[n]]


def degree(laboratory: Laboratory, account: int) -> int:
    truth = laboratory.service.truth
    return len(truth.following(account, START)) + len(truth.followers(account, START))


def degrees(laboratory: Laboratory, sample: Sample) -> dict[int, int]:
    return {laboratory.service.account(each.key): each.degree for each in sample.accounts}


def popular(laboratory: Laboratory) -> str:
    return laboratory.keys()[next(n for n in open_accounts(laboratory) if degree(laboratory, n) > 8)]


def figure(sample: Sample, name: str) -> Figure:
    return next(each for each in sample.figures if each.name == name)


async def sampled(laboratory: Laboratory, seeds: list[str], more: str = "", flow: str = 'flow = "sample"') -> Sample:
    async with laboratory.crawl(laboratory.plan(flow, seeds, more)) as crawl:
        await laboratory.run(crawl)
        (sample,) = await read_samples(crawl.database)
        return sample


@pytest.mark.parametrize("dialect", ["mastodon", *long("twitter_v1", "bluesky", "x", "weibo")])
def test_a_sample_of_any_network_comes_near_the_truth(dialect: str) -> None:
    async def work(laboratory: Laboratory) -> None:
        sample = await sampled(laboratory, [popular(laboratory)], f"{NEVER}\nstop.calls = 260")
        people = open_accounts(laboratory)
        truth = fmean(degree(laboratory, n) for n in people if degree(laboratory, n))
        found = figure(sample, "degree")
        assert sample.walkers == 20
        assert len(sample.accounts) > 40
        assert {laboratory.service.account(account.key) for account in sample.accounts} <= set(people)
        assert sum(account.weight for account in sample.accounts) == pytest.approx(1)
        assert all(account.weight > 0 for account in sample.accounts)
        # The service does not show suspended accounts in lists.
        assert all(0 <= degree(laboratory, n) - listed <= 2 for n, listed in degrees(laboratory, sample).items())
        assert found.value == pytest.approx(truth, rel=0.25)
        assert (found.low or 0.0) < truth < (found.high or 0.0)
        # The fastest network makes all these calls before the first five minutes are over, when profiles are looked up.
        assert dialect == "bluesky" or figure(sample, "followers").known > 0.5
        # Where lists carry profiles, those who asked to be left alone are known before they are asked about.
        assert dialect != "mastodon" or not any(account.opts_out for account in sample.accounts)
        assert laboratory.service.limiter.refused == 0

    in_laboratory(work, dialect)


@pytest.mark.parametrize("method", ["frontier", *long("mhrw")])
def test_the_other_walks_need_only_another_ranker(method: str) -> None:
    flow = f'flow.use = "sample"\nflow.facets.following.ranker = "{method}"\nflow.facets.followers.ranker = "{method}"'

    async def work(laboratory: Laboratory) -> None:
        sample = await sampled(laboratory, [popular(laboratory)], f"{NEVER}\nstop.calls = 200", flow)
        assert sample.method == method
        assert sample.walkers == (1 if method == "mhrw" else 20)
        drawn = sample.drawn(30)
        assert len(drawn) == 30
        assert {account.weight for account in drawn} == {1 / 30}

    in_laboratory(work)


def test_a_handle_is_looked_up_and_the_walk_starts_from_there() -> None:
    async def work(laboratory: Laboratory) -> None:
        account = laboratory.service.account(popular(laboratory))
        handle = "@" + laboratory.service.dialect.handle_of(account, START)
        sample = await sampled(laboratory, [handle], f"{NEVER}\nstop.calls = 60")
        assert sample.walkers == 20
        assert not any(each.key.startswith("@") for each in sample.accounts)

    in_laboratory(work)


def test_where_followers_are_hidden_walkers_jump_between_the_seeds() -> None:
    flow = 'flow.use = "sample"\nflow.facets.followers.on = false\nflow.facets.following.options.jump = 30'

    async def work(laboratory: Laboratory) -> None:
        people, keys = open_accounts(laboratory), laboratory.keys()
        sample = await sampled(laboratory, [keys[n] for n in people], f"{NEVER}\nstop.calls = 250", flow)
        truth = fmean(len(laboratory.service.truth.following(n, START)) for n in people)
        assert sample.walkers == 20
        assert figure(sample, "degree").value == pytest.approx(truth, rel=0.2)
        listed = degrees(laboratory, sample)
        # The service does not show suspended accounts in lists.
        assert all(0 <= len(laboratory.service.truth.following(n, START)) - size <= 2 for n, size in listed.items())

    in_laboratory(work)


def test_a_crawl_ends_by_itself_when_all_three_signs_say_that_the_sample_is_good_enough() -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "sample"', [popular(laboratory)], "stop.half_width = 0.15\nstop.calls = 3000")
        async with laboratory.crawl(plan) as crawl:
            ending = await laboratory.run(crawl)
            (sample,) = await read_samples(crawl.database)
        found = figure(sample, "degree")
        assert ending.state == "finished"
        assert ending.reason.code == "good_enough"
        assert found.is_reached
        value, high, geweke, r_hat = (each or 0.0 for each in (found.value, found.high, found.geweke, found.r_hat))
        assert abs(geweke) < 1.96
        assert 0 < r_hat < 1.05
        assert 0 < high - value <= 0.15 * value

    in_laboratory(work)


def test_a_walk_that_was_killed_goes_on_where_its_last_settled_call_left_it(tmp_path: Path) -> None:
    async def work(laboratory: Laboratory) -> None:
        store = str(tmp_path / "walk.db")
        traces = []
        for calls in (30, 90):
            plan = laboratory.plan('flow = "sample"', [popular(laboratory)], f"{NEVER}\nstop.calls = 90", store=store)
            async with laboratory.crawl(plan) as crawl:
                running = asyncio.create_task(laboratory.run(crawl))
                while crawl.tally.size().calls < calls and not running.done():
                    await laboratory.clock.sleep_until(laboratory.clock.now() + timedelta(seconds=1))
                if calls < 90:
                    running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                traces.append((await read_samples(crawl.database, names=()))[0].trace)
        before, after = map(set, traces)
        assert before
        assert {step[:3] for step in before} <= {step[:3] for step in after}
        assert len({step[:2] for step in after}) == len(after), "no step was made twice"
        assert {step.walker for step in before} == {step.walker for step in after}

    in_laboratory(work)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("sample") / "sample.db")

    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "sample"', [popular(laboratory)], f"{NEVER}\nstop.calls = 120", store=path)
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)

    in_laboratory(work)
    return path


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run_command([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_status_and_sample_tell_the_estimates_and_the_three_signs(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    (by_status,) = answer(capsys, "status", store)["samples"]
    (by_sample,) = answer(capsys, "sample", store)["samples"]
    assert by_status == {name: value for name, value in by_sample.items() if name != "sample"}
    degree = next(each for each in by_sample["estimates"] if each["name"] == "degree")
    assert degree["low"] < degree["value"] < degree["high"]
    assert {"geweke", "r_hat", "wanted", "is_reached", "known"} <= degree.keys()
    assert len(by_sample["sample"]) <= by_sample["accounts"]
    assert all(each["weight"] > 0 for each in by_sample["sample"])


def test_a_sample_of_a_given_size_needs_no_weights_and_can_be_written_to_a_file(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "accounts.txt"
    (sample,) = answer(capsys, "sample", store, "--size", "25", "--out", str(out))["samples"]
    assert len({each["weight"] for each in sample["sample"]}) == 1
    assert out.read_text().split() == [each["key"] for each in sample["sample"]]


def test_the_evaluation_compares_the_methods_for_the_same_calls() -> None:
    figures = evaluate_sampling(Size(runs=1, calls=120, accounts=400))
    assert set(METHODS) <= figures.keys()
    for method in METHODS:
        assert 115 <= figures[method]["calls"] <= 120
        assert 0 <= figures[method]["coverage"] <= 1
        assert [stage["calls"] for stage in figures[method]["stages"]] == [30, 60, 120]
    assert figures["bfs"]["error"] > figures["rwrw"]["error"]
    assert figures["rwrw_calls_for_error_of_mhrw"].keys() == {"degree", "label"}
