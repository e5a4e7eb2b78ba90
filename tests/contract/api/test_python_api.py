"""`import bowerbird`: plans, crawls and stores from Python, against a simulated service over real HTTP."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from simulated_server import Server, running

import bowerbird
from bowerbird import api, cli
from bowerbird.clock import RealClock
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.errors import UserError
from bowerbird.simulated.world.hashing import generator
from failures import raises_code

PAGE = (Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def token(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", next(iter(server.service.tokens)).value)
    assert cli.run(["credentials", "add", "mine", "--provider", "mastodon", "--server", server.base]) == 0


def plan(server: Server, seeds: int = 20) -> bowerbird.CrawlPlan:
    chosen = server.service.truth.sample_accounts(seeds, generator(1, 5), RealClock().now())
    keys = [server.service.dialect.account_key(account) for account in chosen]
    return bowerbird.make_plan("timelines", seeds=keys, on="mastodon", base=server.base, store="small.db", name="small")


def test_a_crawl_runs_and_its_store_is_read(server: Server, token: None) -> None:
    said: list[str] = []
    result = bowerbird.run(plan(server), limits=bowerbird.Limits(calls=12), say=said.append)
    assert (result.state, result.size.calls) == ("finished", 12)
    assert result.size.posts > 0
    with bowerbird.open("small.db") as data:
        posts, users = list(data.posts()), list(data.users())
        assert len(posts) == result.size.posts
        assert {post["author"] for post in posts} <= {user["id"] for user in users}
        assert [crawl.name for crawl in data.crawls()] == ["small"]
        assert data.summary().stored.posts.value == len(posts)
        handle = next(user["handle"] for user in users if user["handle"])
        assert handle in {user["handle"] for user in data.find_users(f"@{handle}")}


def test_the_same_call_goes_on_where_it_stopped(server: Server, token: None) -> None:
    first = bowerbird.run(plan(server), limits=bowerbird.Limits(calls=4), say=str)
    second = bowerbird.run(plan(server), limits=bowerbird.Limits(calls=4), say=str)
    assert (first.size.calls, second.size.calls) == (4, 8)


async def test_it_works_where_a_loop_is_running_already_as_in_notebooks(server: Server, token: None) -> None:
    assert asyncio.get_running_loop() is not None
    assert bowerbird.run(plan(server), limits=bowerbird.Limits(calls=2), say=str).size.calls == 2


def test_a_plan_from_a_file_is_run_by_its_name(server: Server, token: None) -> None:
    file = server.crawl_file(Path("some.toml"), seeds=20)
    assert bowerbird.read_plan(file).name == "some"
    assert bowerbird.run(file, limits=bowerbird.Limits(calls=3), say=str).size.calls == 3


def test_what_is_wrong_is_said_before_anything_is_called() -> None:
    with raises_code(UserError, "unknown_provider") as caught:
        bowerbird.make_plan("timelines", seeds=["@ada"], on="myspace")
    assert "'myspace'" in str(caught.value)
    with raises_code(UserError, "database_not_found") as caught:
        bowerbird.open("nowhere.db")
    assert "nowhere.db" in str(caught.value)


def test_a_crawl_none_of_whose_seeds_is_there_has_failed(server: Server, token: None) -> None:
    nobody = bowerbird.make_plan("timelines", seeds=["@nobody_at_all"], on="mastodon", base=server.base, store="none.db")
    result = bowerbird.run(nobody, say=str)
    assert (result.state, result.reason.code) == ("failed", "no_seed_found")


def test_a_store_that_nobody_keeps_a_name_of_can_be_read(server: Server, token: None) -> None:
    bowerbird.run(plan(server), limits=bowerbird.Limits(calls=4), say=str)
    assert all(post["id"] for post in bowerbird.open("small.db").posts())


@pytest.mark.parametrize(
    ("wrong", "code", "value"),
    [
        (lambda: bowerbird.make_plan("timelinez", seeds=["@a"], on="mastodon"), "unknown_flow", "'timelines'"),
        (lambda: bowerbird.make_plan("timelines", seeds="@a", on="mastodon"), "invalid", "'@a'"),
        (lambda: bowerbird.Limits(duration=5), "invalid", "5"),
        (lambda: bowerbird.Limits(calls=-1), "invalid", "-1"),
    ],
)
def test_mistakes_are_explained(wrong: Callable[[], object], code: str, value: str) -> None:
    with raises_code(UserError, code) as caught:
        wrong()
    assert value in str(caught.value)


def test_a_credential_that_was_refused_at_the_start_is_not_asked_with(
    server: Server, token: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOWERBIRD_SECRET_ACCESS_TOKEN", "wrong")
    assert cli.run(["credentials", "add", "bad", "--provider", "mastodon", "--server", server.base]) == 0
    bowerbird.run(plan(server), limits=bowerbird.Limits(calls=12), say=str)
    with closing(sqlite_module().connect("small.db")) as connection:
        facets = connection.execute("select facet from calls where credential = 'bad'").fetchall()
    assert facets == [("survey",)]


def test_a_crawl_that_can_spend_is_refused_until_somebody_agrees() -> None:
    paid = bowerbird.make_plan("timelines", seeds=["1"], on="x", base="http://127.0.0.1:9")
    with raises_code(UserError, "needs_credential") as caught:
        bowerbird.run(paid, say=str)
    assert "bowerbird credentials add mine --provider x" in str(caught.value)


def test_every_name_is_documented_and_has_a_docstring() -> None:
    for name in set(bowerbird.__all__) - {"__version__"}:
        assert f"bowerbird.{name}" in PAGE or f"`{name}`" in PAGE, name
        assert inspect.getdoc(getattr(bowerbird, name)), name
    assert set(bowerbird.__all__) - {"__version__"} == set(api.__all__)


def test_the_examples_of_the_page_can_be_read_and_name_only_what_there_is() -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 3
    for node in (node for example in examples for node in ast.walk(ast.parse(example))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "bowerbird":
            assert node.attr in bowerbird.__all__


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import bowerbird, sys; print([name for name in ('aiohttp', 'msgspec', 'typer') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
