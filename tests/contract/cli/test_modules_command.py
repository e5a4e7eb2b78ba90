"""`bowerbird modules`: what runs, what it did, one run by hand, and names of places that a person decides on."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command_errors import refused
from module_scene import Scene

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import BowerbirdError
from bowerbird.flows.flow import FacetUse, Flow
from bowerbird.flows.modules import ModuleUse


@pytest.fixture
async def store(tmp_path: Path) -> str:
    """A crawl with two modules, people and a name that some of them write."""
    database = await open_database(str(tmp_path / "c.db"), RealClock())
    await database.create_tables()
    uses = (ModuleUse(name="growth"), ModuleUse(name="mentions", options={"posts": 10}))
    flow = Flow("names", (FacetUse("timeline"), FacetUse("profiles")), modules=uses)
    scene = await Scene(database, RealClock()).begin(flow)  # type: ignore[arg-type]
    await scene.people(yes=[1, 2, 3, 4], no=[5])
    await scene.write(
        "update users set location = 'Xyzzyville' where user_no <= 3",
        "update users set seen_at = null where user_no = 9",
        "insert into lanes (lane, crawl, service, facet) values (1, 1, 1, 'profiles')",
        "insert into candidates (crawl, user_no, source, state, found_at) values (1, 9, 'mentions', 'named', 1)",
        "update workers set ended_at = 1",
    )
    await database.close()
    return str(tmp_path / "c.db")


class Said:
    """Runs commands, each with a loop of its own, and hears what they say."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *words: str, code: int = 0) -> str:
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(cli.run, ["modules", *words]).result() == code
        told = self._capfd.readouterr()
        return told.out + told.err

    def refused(self, *words: str, code: str) -> BowerbirdError:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(partial(refused, "modules", *words, code=code)).result()

    def json(self, *words: str) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(self(*words, "--json").splitlines()[-1])
        return values


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Said:
    return Said(capfd)


async def test_a_module_run_by_hand_is_in_the_list_and_in_its_history(store: str, said: Said) -> None:
    assert said.json(store, "run", "growth")["counts"]["users"] == 40
    assert "40 users" in said(store, "runs", "growth")
    said(store, "run", "growth")
    assert "2 runs" in said(store, "runs", "growth")
    assert said.json(store, "runs", "growth")["average"]["counts"]["users"] == 40
    listed = {each["module"]: each for each in said.json(store)["modules"]}
    assert (listed["growth"]["on"], listed["growth"]["last"]["counts"]["users"]) == (True, 40)
    assert (listed["mentions"]["last"], listed["vote"]["on"]) == (None, False)
    assert "vote" in said(store)


async def test_what_a_module_asks_by_hand_waits_in_the_frontier_of_the_crawl(store: str, said: Said) -> None:
    assert said.json(store, "run", "validity")["counts"] == {"valid": 0, "invalid": 0, "asked": 1}
    database = await open_database(store, RealClock())
    async with database.reading() as tx:
        (task,) = await tx.fetch("select target, state, ready from tasks")
        living = await tx.fetch("select 1 from workers where ended_at is null")
    await database.close()
    assert (task["target"], task["state"], task["ready"], list(living)) == ("9", "waiting", 1, [])


async def test_names_of_places_are_proposed_and_decided(store: str, said: Said) -> None:
    assert said.json(store, "run", "place_names")["counts"]["new"] == 1
    assert "Xyzzyville" in said(store, "names")
    assert said.json(store, "confirm", "xyzzyville", "--who", "ada")["said"] == "confirmed"
    assert 'own = ["Xyzzyville"]' in said(store, "names")
    assert "'Atlantis'" in said.refused(store, "refuse", "Atlantis", code="unknown_account").problem


@pytest.mark.parametrize(
    ("words", "code", "values"),
    [
        (("run", "grwoth"), "unknown_module", ("'grwoth'", "'growth'")),
        (("walk", "growth"), "unknown_name", ("'walk'", "list, run, runs")),
        (("run",), "ambiguous", ("run NAME",)),
        (("names", "growth"), "unsupported", ("names",)),
        (("run", "deletions"), "unsupported", ("'deletions'", "`posts`", "'names'")),
    ],
)
async def test_what_cannot_be_done_is_said(
    store: str, said: Said, words: tuple[str, ...], code: str, values: tuple[str, ...]
) -> None:
    told = str(said.refused(store, *words, code=code))
    assert [value for value in values if value not in told] == []


async def test_modules_run_that_fails_names_the_setting(store: str, said: Said) -> None:
    assert "[modules.notification]" in said(store, "run", "notification", code=3)


async def test_no_store_says_which_program_is_run_here(store: str, said: Said, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    uses = (ModuleUse(name="notification", options={"command": ["touch", str(mark)]}),)
    flow = Flow("names", (FacetUse("timeline"),), modules=uses)
    database = await open_database(store, RealClock())
    async with database.transaction() as tx:
        await tx.execute("update crawls set flow = ?, calls = 1000", msgspec.json.encode(flow).decode())
    await database.close()
    advice = said.refused(store, "run", "notification", code="unsupported").advice
    assert "bowerbird modules FILE run notification" in advice
    assert not mark.exists()
