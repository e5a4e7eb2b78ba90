"""Steering from a browser: every action once, what is refused, and what comes too late."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs
from simulated_server import running

from bowerbird.clock import RealClock
from bowerbird.crawl.life.registry import enrol_service
from bowerbird.db import open_database
from bowerbird.errors import CredentialError, UserError
from bowerbird.limits.vault import FileVault
from bowerbird.model import Service
from bowerbird.ports import Database
from bowerbird.steering.files import folder_for
from bowerbird.web.site import Site
from failures import page_error, raises_code
from web_site import CHEAP, CRAWL, Answer, Client, Crawled, dashboard

MAKING = {
    "name": "lisbon",
    "flow": "timelines",
    "provider": "mastodon",
    "seeds": "@alice\n@bob\n",
    "duration": "2h",
    "calls": "50",
}


@pytest.fixture
async def client(crawled: Crawled, tmp_path: Path) -> AsyncIterator[Client]:
    file = crawled.copy(tmp_path)
    database = await open_database(str(file), RealClock())
    await database.create_tables()
    vault = FileVault(tmp_path / "vault")
    entered = Client(Site(database, RealClock(), "test store", store=str(file), vault=vault, cost=CHEAP))
    await entered.enter()
    yield entered
    await database.close()


async def rows(client: Client, sql: str, *values: object) -> list[dict[str, object]]:
    async with client.site.database.reading() as tx:
        return [dict(row) for row in await tx.fetch(sql, *values)]


async def followed(client: Client, answer: Answer) -> str:
    assert answer.status == 303, answer.text
    return (await client.get(answer.headers["location"])).text


async def said(client: Client, answer: Answer) -> str:
    """What the page after an action says of it."""
    found = re.search(r'<p class="message[^"]*" role="status">(.*?)</p>', await followed(client, answer), re.DOTALL)
    assert found is not None, "the page says nothing"
    return found[1]


async def control_fields(client: Client) -> dict[str, str]:
    crawl = await client.site.reader.crawl(CRAWL)
    assert crawl is not None
    return {"crawl": CRAWL, "state": str(crawl.state), "wanted": str(crawl.wanted)}


@pytest.mark.parametrize("tab", ["", "/new", "/new/file", "/seeds", "/people", "/credentials", "/actions", f"/crawls/{CRAWL}"])
async def test_every_page_of_steering_answers(client: Client, tab: str) -> None:
    answer = await client.get(f"/steering{tab}")
    assert answer.status == 200, answer.text


@pytest.mark.parametrize("tab", ["", "/new", "/seeds", "/people", "/credentials", "/actions"])
async def test_every_page_answers_on_an_empty_store(database: Database, tab: str) -> None:
    answer = await (await dashboard(database)).get(f"/steering{tab}")
    assert answer.status == 200, answer.text


async def test_a_crawl_and_a_facet_are_paused_and_go_on(client: Client) -> None:
    paused = await client.post("/steering/control", {**await control_fields(client), "verb": "pause"})
    assert CRAWL in await said(client, paused)
    assert (await control_fields(client))["wanted"] == "paused"
    part = {"crawl": CRAWL, "kind": "facet", "name": "profiles", "state": "running", "wanted": "running"}
    assert "profiles" in await said(client, await client.post("/steering/control", {**part, "verb": "pause"}))
    assert await rows(client, "select name, wanted from controls") == [{"name": "profiles", "wanted": "paused"}]
    back = await client.post("/steering/control", {**part, "state": "paused", "wanted": "paused", "verb": "resume"})
    assert "profiles" in await said(client, back)
    assert await rows(client, "select name from controls") == []


@pytest.mark.parametrize(("was", "wanted", "verb"), [("running", "paused", "resume"), ("paused", "running", "pause")])
async def test_a_page_that_stays_open_while_its_wish_comes_true_can_ask_for_the_next(
    client: Client, was: str, wanted: str, verb: str
) -> None:
    async with client.site.database.transaction() as tx:
        await tx.execute("update crawls set state = ?, wanted = ?", wanted, wanted)
    answer = await client.post("/steering/control", {"crawl": CRAWL, "verb": verb, "state": was, "wanted": wanted})
    assert answer.status == 303, answer.text
    assert (await control_fields(client))["wanted"] == was


async def test_of_two_people_the_second_is_told_that_the_first_was_faster(client: Client) -> None:
    seen = await control_fields(client)
    assert (await client.post("/steering/control", {**seen, "verb": "pause"})).status == 303
    late = await client.post("/steering/control", {**seen, "verb": "stop"})
    assert (late.status, page_error(late).code) == (400, "changed_meanwhile")
    assert (await control_fields(client))["wanted"] == "paused"


@pytest.mark.parametrize(
    ("field", "code", "value"),
    [
        ({"verb": "burn"}, "invalid", "'burn'"),
        ({"crawl": "nobody"}, "unknown_crawl", "'nobody'"),
        ({"kind": "facet", "name": "x"}, "unknown_name", "'x'"),
    ],
)
async def test_what_cannot_be_controlled_is_said(client: Client, field: dict[str, str], code: str, value: str) -> None:
    seen = {"state": "running", "wanted": "running"} if "kind" in field else await control_fields(client)
    answer = await client.post("/steering/control", {"crawl": CRAWL, "verb": "pause", **seen, **field})
    error = page_error(answer)
    assert (answer.status, error.code) == (400, code)
    assert value in error.problem


async def test_a_form_is_checked_as_it_is_typed_and_shows_the_file(client: Client) -> None:
    answer = await client.post("/steering/new/check", MAKING)
    assert re.search(r'class="message good">[^<]*\b2\b', answer.text)
    assert "seeds.file = &#34;lisbon.seeds.txt&#34;" in answer.text
    wrong = {
        "name": ("../etc", "invalid"), "calls": ("many", "invalid"), "duration": ("soon", "invalid"),
        "base": ("gopher://x", "invalid_address"), "flow": ("nonsense", "unknown_flow"), "seeds": ("", "missing_value"),
    }  # fmt: skip
    for field, (value, code) in wrong.items():
        error = page_error(await client.post("/steering/new/check", {**MAKING, field: value}))
        assert (error.code, value in error.problem) == (code, True), field


async def test_a_form_says_what_is_missing_in_its_own_words_and_only_then_as_a_fault(client: Client) -> None:
    empty = await client.post("/steering/new/check", {**MAKING, "name": "", "seeds": ""})
    assert 'class="message"' in empty.text
    assert "data-error" not in empty.text
    unseeded = await client.post("/steering/new/check", {**MAKING, "seeds": ""})
    assert page_error(unseeded).code == "missing_value"


async def test_a_crawl_is_written_beside_the_store_and_never_over_another(client: Client, tmp_path: Path) -> None:
    made = await client.post("/steering/new/make", MAKING)
    assert "lisbon" in await said(client, made)
    folder = tmp_path / "crawled-crawls"
    assert (folder / "lisbon.seeds.txt").read_text() == "@alice\n@bob\n"
    assert f'store = "{tmp_path}/crawled.db"' in (folder / "lisbon.toml").read_text()
    assert (folder / "lisbon.toml").stat().st_mode & 0o077 == 0
    again = await client.post("/steering/new/make", MAKING)
    assert (again.status, page_error(again).code) == (400, "already_exists")
    page = await client.get("/steering/crawls/lisbon")
    assert "Start lisbon" in page.text


async def test_a_pasted_file_keeps_to_this_store_and_names_no_files_of_the_machine(client: Client, tmp_path: Path) -> None:
    text = 'flow = "timelines"\nstore = "/etc/other.db"\nseeds = ["@alice"]\n[service]\nprovider = "mastodon"\nbase = "https://m.example"\n'
    answer = await client.post("/steering/new/check", {"name": "pasted", "text": text})
    assert re.search(r'class="message good">[^<]*\b1\b', answer.text)
    assert "/etc/other.db" not in answer.text
    lines = {"seeds.file": 'seeds.file = "/etc/passwd"', "../x.toml": 'flow = "../x.toml"'}
    lines["backup.folder"] = '[backup]\nevery = "1d"\nfolder = "/tmp/x"'
    for value, line in lines.items():
        other = text.replace('seeds = ["@alice"]', line) if "seeds" in line else f"{text}{line}\n"
        other = text.replace('flow = "timelines"', line) if "flow" in line else other
        answer = await client.post("/steering/new/check", {"name": "pasted", "text": other})
        error = page_error(answer)
        assert (error.code, value in error.problem) == ("invalid_file", True), line
    assert "root:" not in answer.text


async def test_a_crawl_that_costs_is_started_only_with_its_budget_agreed(client: Client) -> None:
    paid = {**MAKING, "name": "paid", "provider": "x", "a_month": "3", "seeds": "@alice"}
    checked = (await client.post("/steering/new/check", paid)).text
    assert 'name="dollars"' in checked
    assert 'placeholder="3.00"' in checked
    assert (await client.post("/steering/new/make", {**paid, "start": "yes"})).status == 400
    assert "paid" in await said(client, await client.post("/steering/new/make", paid))
    refused = await client.post("/steering/start", {"crawl": "paid", "dollars": "2"})
    error = page_error(refused)
    assert (refused.status, error.code) == (400, "needs_agreement")
    assert "3.00" in error.advice


async def test_seeds_are_added_and_retired_while_the_crawl_rests(client: Client) -> None:
    added = await client.post("/steering/seeds/add", {"crawl": CRAWL, "seeds": "#jazz\n#jazz"})
    assert re.search(r"\b1\b", await said(client, added))
    found = await rows(client, "select target, state from tasks where depth = 0 and added_by is null order by task")
    assert any("jazz" in str(row["target"]) for row in found)
    page = (await client.get(f"/steering/seeds?crawl={CRAWL}&q=jazz")).text
    assert "jazz" in page
    target = next(str(row["target"]) for row in found if "jazz" in str(row["target"]))
    service = (await rows(client, "select name from services"))[0]["name"]
    gone = await client.post("/steering/seeds/retire", {"crawl": CRAWL, "service": str(service), "target": target})
    assert target in await said(client, gone)
    states = await rows(client, "select state from tasks where target = ? and depth = 0", target)
    assert {row["state"] for row in states} == {"retired"}
    assert (await rows(client, "select who, why from changes where target = ?", target))[0]["who"] == "owner"


async def test_a_credential_goes_in_and_never_comes_out(client: Client) -> None:
    secret = "verysecrettoken123"
    form = {"name": "mine", "provider": "mastodon", "kind": "user", "secret_access_token": secret, "server": "https://m.example"}
    added = await followed(client, await client.post("/steering/credentials/add", form))
    assert "mine" in added
    assert client.site.vault.credential("mine").provider == "mastodon"  # type: ignore[union-attr]
    assert secret not in added
    twice = await client.post("/steering/credentials/add", form)
    assert (twice.status, page_error(twice).code) == (400, "already_exists")
    assert secret not in twice.text
    short = await client.post("/steering/credentials/add", {**form, "name": "other", "secret_access_token": "two words"})
    assert (short.status, page_error(short).code) == (400, "invalid_credential")
    assert "two words" not in short.text
    retired = await client.post("/steering/credentials/retire", {"name": "mine"})
    assert "mine" in await said(client, retired)
    with raises_code(CredentialError, "unknown_credential"):
        client.site.vault.credential("mine")  # type: ignore[union-attr]


async def test_the_password_of_a_database_is_in_the_vault_alone(client: Client) -> None:
    form = {"name": "archive", "host": "127.0.0.1", "port": "1", "database": "posts", "user": "ada", "password": "p@ss/word"}
    page = await followed(client, await client.post("/steering/credentials/database", form))
    assert "vault:archive" in page
    assert "p@ss" not in page
    assert client.site.vault.secret("archive").values["address"] == "postgresql://ada:p%40ss%2Fword@127.0.0.1:1/posts"  # type: ignore[union-attr]
    tried = await followed(client, await client.post("/steering/credentials/test", {"name": "archive"}))
    assert '<p class="message bad" role="alert">' in tried
    assert "p%40ss" not in tried


async def test_a_wrong_credential_is_told_as_a_fault_until_its_secret_is_replaced(client: Client) -> None:
    with running() as server:
        right, wrong = next(iter(server.service.tokens)).value, "mistypedtoken"
        form = {"name": "mine", "provider": "mastodon", "secret_access_token": wrong, "server": server.base, "account": "ada"}
        await client.post("/steering/credentials/add", form)
        tried = await followed(client, await client.post("/steering/credentials/test", {"name": "mine"}))
        assert '<p class="message bad" role="alert">mine: ' in tried
        assert 'action="/steering/credentials/replace"' in (await client.get("/steering/credentials?replace=mine")).text
        replaced = await followed(
            client, await client.post("/steering/credentials/replace", {**form, "secret_access_token": right})
        )
        assert '<p class="message bad"' not in replaced
        tried = await followed(client, await client.post("/steering/credentials/test", {"name": "mine"}))
    assert '<p class="message good" role="status">mine: ' in tried
    assert not any(secret in page for secret in (right, wrong) for page in (tried, replaced))
    assert client.site.vault.credential("mine").account == "ada"  # type: ignore[union-attr]
    recorded = await rows(client, "select who, outcome from actions where what = 'replace secret' and subject = 'mine'")
    assert recorded == [{"who": "owner", "outcome": "done"}]


async def test_what_is_no_whole_secret_replaces_nothing(client: Client) -> None:
    form = {"name": "archive", "host": "db.example", "database": "posts", "user": "ada", "password": "first"}
    await client.post("/steering/credentials/database", form)
    again = {**form, "host": "", "password": "second"}
    assert (await client.post("/steering/credentials/replace", again)).status == 400
    assert (await client.post("/steering/credentials/replace", {**form, "name": "nobody"})).status == 400
    assert (await client.post("/steering/credentials/replace", {**again, "host": "new.example"})).status == 303
    assert client.site.vault.secret("archive").values["address"] == "postgresql://ada:second@new.example/posts"  # type: ignore[union-attr]
    assert client.site.vault.credential("archive").servers == ("postgresql://new.example/posts",)  # type: ignore[union-attr]


async def test_people_of_the_store_are_found_by_name(client: Client) -> None:
    handle = (await rows(client, "select handle from users where handle is not null order by user_no limit 1"))[0]["handle"]
    page = (await client.get(f"/steering/people?q={handle}")).text
    assert "Add as seed" in page
    assert "Add as seed" not in (await client.get("/steering/people?q=nobody-at-all")).text
    assert (await client.get("/steering/people/look-up-1")).status == 404
    assert (await client.post("/steering/people/look", {"q": "alice", "provider": "x"})).status == 400


async def test_every_action_is_recorded_with_who_and_how_it_ended_and_can_be_searched(client: Client) -> None:
    seen = await control_fields(client)
    await client.post("/steering/control", {**seen, "verb": "pause"})
    await client.post("/steering/control", {**seen, "verb": "stop"})
    page = (await client.get("/steering/actions")).text
    assert page.count(">owner") >= 2
    assert "state-failed" in page
    assert "pause" in (await client.get("/steering/actions?q=PAUSE")).text.partition("<tbody>")[2]
    assert "<tbody>" not in (await client.get("/steering/actions?q=100%25")).text


def test_stores_on_servers_have_their_crawl_files_apart(tmp_path: Path) -> None:
    stores = ("postgresql://ada:x@h.example/posts", "postgresql://ada:y@h.example/posts", "postgresql://h.example/other")
    folders = [folder_for(store, tmp_path) for store in stores]
    assert [folder.name for folder in folders] == ["h-example-posts", "h-example-posts", "h-example-other"]


async def test_a_server_that_the_store_knows_keeps_its_name_so_that_its_limits_are_counted_once(client: Client) -> None:
    known = Service(name="square", provider="mastodon", base="https://square.example")
    async with client.site.database.transaction() as tx:
        await enrol_service(tx, known, "mastodon")
    checked = await client.post("/steering/new/check", {**MAKING, "base": "https://square.example/"})
    assert "name = &#34;square&#34;" in checked.text
    other = await client.post("/steering/new/check", {**MAKING, "base": "https://round.example"})
    assert "name = " not in other.text
    async with client.site.database.transaction() as tx:
        with raises_code(UserError, "invalid") as caught:
            await enrol_service(tx, structs.replace(known, name="square.example"), "mastodon")
        assert 'name = "square"' in str(caught.value)
        assert await enrol_service(tx, known, "mastodon")
