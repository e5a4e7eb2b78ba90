"""Modules on both databases: run when due, by one worker, again after a failure, and written down whatever happens."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from module_scene import HOUR, START, Scene, Toy, played

from bowerbird.crawl.life import registry
from bowerbird.errors import FlowError, UserError
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.model import Claim, CrawlState
from bowerbird.model.modules import Counts
from bowerbird.modules.running.found import KnownModules
from bowerbird.modules.running.rows import read_runs
from bowerbird.modules.tending.growth import Growth
from bowerbird.ports import ModuleContext
from bowerbird.reports.modules import read_failing
from bowerbird.vocabulary import vocabulary
from failures import raises_code

HEAD = 'flow = "timelines"\nseeds = ["1"]\n[service]\nprovider = "x"\nbase = "https://api.x.com"\n'


def hours(toy: Toy) -> list[float]:
    """When it ran; virtual time arrives a microsecond late."""
    return [round((time - START) / HOUR, 4) for time in toy.times]


async def let_run(scene: Scene, toy: Toy, span: timedelta, *workers: int) -> None:
    """Runs the module as a part of some processes for a time."""
    runners = [scene.runner(toy, worker) for worker in workers or (scene.worker,)]
    tasks = [asyncio.create_task(each.run()) for each in runners]
    await scene.clock.sleep_until(scene.clock.now() + span)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_a_module_runs_at_once_and_then_whenever_it_is_due(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        toy = Toy()
        await let_run(scene, toy, timedelta(hours=3, minutes=30))
        assert hours(toy) == [0, 1, 2, 3]
        counts = [row["counts"] for row in await scene.rows("select counts from v_module_runs order by run")]
        assert counts == ['{"ran":1}', '{"ran":2}', '{"ran":3}', '{"ran":4}']

    played(database_url, play)


def test_a_restart_goes_on_with_the_schedule_and_with_what_was_remembered(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        toy = Toy()
        await let_run(scene, toy, timedelta(minutes=90))
        await let_run(scene, toy, timedelta(minutes=45))
        assert hours(toy) == [0, 1, 2]

    played(database_url, play)


def test_of_many_workers_one_runs_a_module_each_time(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        async with scene.database.transaction() as tx:
            others = [await registry.enrol_worker(tx, "c", START) for _ in range(3)]
        toy = Toy()
        await let_run(scene, toy, timedelta(hours=5, minutes=30), scene.worker, *others)
        assert hours(toy) == [0, 1, 2, 3, 4, 5]

    played(database_url, play)


def test_a_module_that_fails_is_tried_again_ever_later_and_the_trouble_is_noted(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        toy = Toy(fails=[1, 2, 3])
        await let_run(scene, toy, timedelta(minutes=20))
        assert [round(hour * 60) for hour in hours(toy)] == [0, 1, 3, 7]
        async with scene.database.reading() as tx:
            newest, *failed = await read_runs(tx, 1, "toy", 10)
        assert (newest.error, [run.error for run in failed]) == (None, ["ValueError: told to fail"] * 3)
        noted = await scene.rows("select part, message from errors")
        assert [(row["part"], row["message"]) for row in noted] == [("module toy", "ValueError: told to fail")] * 3
        async with scene.database.reading() as tx:
            assert await read_failing(tx) == []
        # What was remembered before it failed is kept.
        assert newest.counts == {"ran": 4}

    played(database_url, play)


def test_a_module_that_keeps_failing_is_told_with_its_last_error(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await let_run(scene, Toy(fails=[1, 2, 3]), timedelta(minutes=2))
        async with scene.database.reading() as tx:
            (found,) = await read_failing(tx)
        assert (found.crawl, found.name, found.failures, found.error) == ("c", "toy", 2, "ValueError: told to fail")

    played(database_url, play)


def test_a_run_whose_worker_died_is_ended_by_the_next(database_url: str) -> None:
    class Stuck(Toy):
        async def run(self, context: ModuleContext) -> Counts:
            await asyncio.Event().wait()
            return {}

    async def play(scene: Scene) -> None:
        async with scene.database.transaction() as tx:
            other = await registry.enrol_worker(tx, "c", START)
        await let_run(scene, Stuck(), timedelta(minutes=1))
        async with scene.database.transaction() as tx:
            await registry.end_workers(tx, [scene.worker], scene.clock.now())
        await let_run(scene, Toy(), timedelta(minutes=1), other)
        runs = await scene.rows("select error, ended_at from module_runs order by run")
        assert [(row["error"] is not None, row["ended_at"] is not None) for row in runs] == [(True, True), (False, True)]

    played(database_url, play)


@pytest.mark.parametrize("rubbish", [None, object(), {"a": object()}, "counts", {"a": "\ud800"}])
def test_what_cannot_be_written_down_is_an_error_of_the_run(database_url: str, rubbish: Any) -> None:
    class Odd(Toy):
        async def run(self, context: ModuleContext) -> Counts:
            await super().run(context)
            odd: Counts = rubbish
            return odd

    async def play(scene: Scene) -> None:
        ran = await scene.runner(Odd()).by_hand()
        assert ran.error is not None
        # The claim is free, and the run has ended.
        assert await scene.run(Toy()) == {"ran": 2}
        assert [row["counts"] for row in await scene.rows("select counts from module_runs order by run")] == ["{}", '{"ran":2}']

    played(database_url, play)


@pytest.mark.parametrize("raised", [ValueError("a\0b \ud800"), SystemExit(3), asyncio.CancelledError()])
def test_whatever_a_module_raises_is_written_down_and_ends_nothing(database_url: str, raised: BaseException) -> None:
    class Bad(Toy):
        async def run(self, context: ModuleContext) -> Counts:
            raise raised

    async def play(scene: Scene) -> None:
        ran = await scene.runner(Bad()).by_hand()
        assert (ran.error or "").startswith(type(raised).__name__)
        assert await scene.run(Toy()) == {"ran": 1}

    played(database_url, play)


def test_a_module_that_hangs_does_not_keep_a_crawl_from_ending(database_url: str) -> None:
    class Endless(Toy):
        hears_end = True

        async def run(self, context: ModuleContext) -> Counts:
            await asyncio.Event().wait()
            return {}

    async def play(scene: Scene) -> None:
        part = scene.runner(Endless()).part()
        assert part.ended is not None
        await part.ended(CrawlState.FINISHED, "done")
        assert scene.clock.now() - START < timedelta(minutes=5)

    played(database_url, play)


def test_a_module_hears_of_the_end_when_its_run_elsewhere_is_over(database_url: str) -> None:
    class Slow(Toy):
        hears_end = True

        async def run(self, context: ModuleContext) -> Counts:
            heard = context.memory.get("ended")
            await context.clock.sleep_until(context.clock.now() + timedelta(seconds=20))
            async with context.transaction():
                context.memory["slept"] = True
            return {"heard": int(heard is not None)}

    async def play(scene: Scene) -> None:
        async with scene.database.transaction() as tx:
            other = await registry.enrol_worker(tx, "c", START)
        elsewhere = asyncio.create_task(scene.runner(Slow(), other).by_hand())
        await scene.clock.sleep_until(scene.clock.now() + timedelta(seconds=5))
        part = scene.runner(Slow()).part()
        assert part.ended is not None
        await part.ended(CrawlState.FINISHED, "done")
        await elsewhere
        runs = await scene.rows("select counts, error from module_runs order by run")
        assert [(row["counts"], row["error"]) for row in runs] == [('{"heard":0}', None), ('{"heard":1}', None)]

    played(database_url, play)


def test_by_hand_it_runs_whether_it_is_due_or_not_but_never_twice_at_once(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        toy = Toy()
        await let_run(scene, toy, timedelta(minutes=1))
        assert await scene.run(toy, step=5) == {"ran": 6}
        async with scene.database.transaction() as tx:
            other = await registry.enrol_worker(tx, "c", START)
        runner = scene.runner(toy, other)
        assert isinstance(await runner._taken(), Claim)
        with raises_code(UserError, "already_running") as caught:
            await scene.runner(toy).by_hand()
        assert "toy" in caught.value.problem

    played(database_url, play)


def test_growth_writes_down_the_rows_of_every_table(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2])
        counts = await scene.run(Growth())
        assert (counts["users"], counts["judgements"], counts["posts"]) == (40, 2, 0)
        await scene.clock.sleep_until(START + HOUR)
        await scene.run(Growth())
        rows = await scene.rows("select name, at, rows, is_exact from v_growth where name = 'users' order by at")
        assert [(row["at"][:16], row["rows"], row["is_exact"]) for row in rows] == [
            ("2026-03-01T12:00", 40, 1),
            ("2026-03-01T13:00", 40, 1),
        ]

    played(database_url, play)


@pytest.mark.parametrize(
    ("table", "code", "line", "values"),
    [
        ("[modules.grwoth]", "unknown_module", 6, ("'grwoth'", "'growth'")),
        ('[modules.growth]\nevery = "1s"', "invalid_file", 7, ("every", '"10s"')),
        ("[modules.growth]\nsize = 3", "unknown_key", 7, ("'size'", "[modules.growth]")),
        ("[modules.growth]\non = 1", "invalid_file", 7, ("on", "true", "false", "1")),
    ],
)
def test_a_wrong_table_of_a_module_is_refused_with_its_line(table: str, code: str, line: int, values: tuple[str, ...]) -> None:
    with raises_code(FlowError, code) as caught:
        parse_crawl(HEAD + table, Path("crawl.toml"), vocabulary())
    assert (caught.value.file, caught.value.line) == ("crawl.toml", line)
    assert all(value in caught.value.problem for value in values)


def test_a_module_that_is_off_does_not_run() -> None:
    plan = parse_crawl(HEAD + '[modules.growth]\nevery = "5m"\non = false', Path("crawl.toml"), vocabulary())
    assert plan.flow.modules == ()
    plan = parse_crawl(HEAD + '[modules.growth]\nevery = "5m"', Path("crawl.toml"), vocabulary())
    assert [(use.name, use.every) for use in plan.flow.modules] == [("growth", timedelta(minutes=5))]


TOY = """
from datetime import timedelta
from bowerbird.model.modules import ModuleOption

class Census:
    name = "census"
    about = "Counts accounts."
    every = timedelta(hours=6)
    options = {"least": ModuleOption(3, "Followers of those who count.")}
    needs = ()

    async def run(self, context):
        async with context.database.reading() as tx:
            rows = await tx.fetch("select count(*) as n from users where followers >= ?", context.options["least"])
        return {"accounts": rows[0]["n"]}
"""


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "census") -> None:
    """A package with one module, as pip would leave it."""
    (folder / "toy_census.py").write_text(TOY, encoding="utf-8")
    info = folder / "toy_census-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-census\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[bowerbird.modules]\n{name} = toy_census:Census\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "toy_census", raising=False)


def test_a_module_of_an_installed_package_is_one_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch)
    plan = parse_crawl(HEAD + "[modules.census]\nleast = 5", Path("crawl.toml"), vocabulary())
    assert plan.flow.modules[0].options == {"least": 5}

    async def play(scene: Scene) -> None:
        await scene.people()
        assert await scene.run(KnownModules()["census"], least=5) == {"accounts": 40}
        assert await scene.run(KnownModules()["census"], least=6) == {"accounts": 0}

    played(":memory:", play)


def test_a_module_that_is_none_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, name="tally")
    with raises_code(UserError, "invalid") as caught:
        list(KnownModules())
    assert all(name in caught.value.problem for name in ("'tally'", "toy-census", "'census'"))
