"""The dashboard as somebody reads it who sees it for the first time: names instead of ids, one word for one thing, every number
with its age and what stands behind it."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta

import msgspec
import pytest
from working_scene import MINUTE, at, fill

from bowerbird.clock import RealClock
from bowerbird.db.sqlite.short_columns import written
from bowerbird.errors import Failure
from bowerbird.model import Subject
from bowerbird.modules.statistics.places import read_cells
from bowerbird.modules.statistics.preparing import Preparing
from bowerbird.ports import Database
from bowerbird.reports.completeness import Cause, Entry, Missing, View
from bowerbird.reports.sheets.names import asked_by, read_names
from bowerbird.reports.working.spans import read_first_posts, read_spans
from bowerbird.store.prepared_reports import Prepared, keep_prepared
from bowerbird.web.formats import brief
from web_site import CRAWL, Client, dashboard

_USER = """
insert into users (user_no, id, network, handle, name, opts_out, found_at, seen_at) values (?, ?, 'bluesky', ?, ?, ?, 1, 1)
"""
_POST = """
insert into posts ({columns})
values (9, 'p:9', 'bluesky', 5, 'post', 1, 1, 1, 1)
"""


async def _people(database: Database) -> None:
    """One account that may be told of, one that opted out, one that is gone, one without any name."""
    await fill(database)
    async with database.transaction() as tx:
        await tx.execute_many(
            _USER,
            [
                (1, "did:1", "one", "The One", 0),
                (2, "did:2", "two", "Two", 1),
                (3, "did:3", "three", "Three", 0),
                (4, "did:4", None, None, None),
                (5, "did:5", None, "Five", 0),
            ],
        )
        await tx.execute(f"insert into unavailable (user_no, reason, since) values (3, 'suspended', {at(1)})")
        await tx.execute("insert into user_keys (service, key, user_no) select service, '77', 1 from services")


async def test_targets_have_names_where_they_may_be_told(database: Database) -> None:
    await _people(database)
    asked = [("here", Subject.USER, key) for key in ("did:1", "did:2", "did:3", "did:4", "did:5", "77", "nobody")]
    async with database.reading() as tx:
        names = await read_names(database, tx, asked)
        elsewhere = await read_names(database, tx, [("", Subject.USER, "did:1"), ("", Subject.USER, "77")])
        nothing = await read_names(database, tx, [])
    assert {target: each.label for (_, _, target), each in names.items()} == {"did:1": "@one", "did:5": "Five", "77": "@one"}
    assert ({target for _, _, target in elsewhere}, nothing) == ({"did:1"}, {})


async def test_what_a_facet_asks_about_decides_what_a_number_names(database: Database) -> None:
    await _people(database)
    async with database.transaction() as tx:
        names = ("post_no", "id", "network", "author", "kind", "found_at", "found_by", "seen_at", "seen_by")
        await tx.execute(_POST.format(columns=", ".join(written(database.dialect, name) for name in names)))
        await tx.execute("insert into post_keys (service, key, post_no) select service, '77', 9 from services")
    asked = [asked_by("here", facet, "77")[0] for facet in ("profiles", "posts", "search", "hashtag", "a stream")]
    async with database.reading() as tx:
        names = await read_names(database, tx, asked)
    assert {subject: each.label for (_, subject, _), each in names.items()} == {"user": "@one", "post": "post by Five"}


@pytest.mark.parametrize("address", ["/crawls/small/frontier", "/crawls/small/messages", "/work/calls", "/steering/seeds"])
async def test_pages_show_names_and_keep_ids_of_whom_nothing_is_told(database: Database, address: str) -> None:
    await _people(database)
    async with database.transaction() as tx:
        await tx.execute("update calls set targets = 'did:1,did:2,did:3' where call >= 29")
    shown = (await (await dashboard(database)).get(address)).text
    assert '<a class="handle" href="/users/did%3A1" title="did:1"><bdi>@one</bdi></a>' in shown
    assert "did:2" in shown
    assert ("@two" in shown, "@three" in shown) == (False, False)


async def test_calls_of_one_crawl_are_chosen_by_its_name(database: Database) -> None:
    await fill(database)
    client = await dashboard(database)
    assert "did:29" in (await client.get("/work/calls?crawl=small&facet=profiles")).text
    assert (await client.get("/work/calls?crawl=other")).status == 400


@pytest.mark.parametrize("address", ["/", f"/crawls/{CRAWL}", f"/crawls/{CRAWL}/messages", f"/crawls/{CRAWL}/plan", "/work"])
async def test_what_is_new_in_the_store_is_called_items(crawled_database: Database, address: str) -> None:
    shown = re.sub(r"<[^>]*>", " ", (await (await dashboard(crawled_database)).get(address)).text)
    assert re.findall(r"(?i)\brecords?\b|new items", shown) == []


@pytest.mark.parametrize(
    "address",
    ["/", "/data/users", "/data/saved", f"/crawls/{CRAWL}", "/steering/new", "/figures/accounts", "/help"],
)
async def test_accounts_are_called_accounts(crawled_database: Database, address: str) -> None:
    page = (await (await dashboard(crawled_database)).get(address)).text
    shown = re.sub(r"<code>.*?</code>|<textarea.*?</textarea>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert re.findall(r"(?i).{20}\busers?\b.{20}", shown) == []


async def _standing(client: Client, argument: str) -> str:
    stream = client.site.live.stream("steering", argument)
    told = await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    return told


async def test_only_what_somebody_else_wants_is_told_as_changed(crawled_database: Database) -> None:
    client = await dashboard(crawled_database)
    async with crawled_database.transaction() as tx:
        await tx.execute("update crawls set state = 'stopped', wanted = 'stopped'")
    told = {
        where: await _standing(client, f"{CRAWL}/{where}")
        for where in ("rest/stopped", "run/stopped", "run/running", "rest/running/starting")
    }
    is_told = {where: ('class="button"' in text, "data-again" in text) for where, text in told.items()}
    assert is_told == {
        "rest/stopped": (False, False),
        "run/stopped": (False, True),
        "run/running": (True, False),
        "rest/running/starting": (False, False),
    }


async def test_a_crawl_that_rests_as_wanted_is_no_warning_and_has_a_button(crawled_database: Database) -> None:
    async with crawled_database.transaction() as tx:
        stopped = Failure("stopped", "asked to stop").to_json()
        await tx.execute("update crawls set state = 'stopped', wanted = 'stopped', reason = ?", stopped)
    shown = (await (await dashboard(crawled_database)).get("/")).text
    needs = shown[shown.index('<section id="needs"') : shown.index('id="figures"')]
    assert re.findall(r'<li class="(\w+)">', needs) == ["good", "wished"]
    assert f'<p class="for-steer"><a class="button" href="/steering/crawls/{CRAWL}">Start …</a></p>' in needs
    assert 'data-role="admin"' in shown


async def test_posts_older_than_their_crawl_are_told_apart(database: Database) -> None:
    await fill(database)
    names = ("post_no", "id", "network", "author", "kind", "created_at", "found_at", "found_by", "seen_at", "seen_by")
    columns = ", ".join(written(database.dialect, name) for name in names)
    post = f"insert into posts ({columns}) values (?, ?, 'bluesky', 1, 'post', ?, ?, 1, 1, 1)"
    old, young = at(60 * 24 * 30), at(-1)
    async with database.transaction() as tx:
        added = "insert into users (user_no, id, network, handle, found_at, seen_at) values (?, ?, 'bluesky', 'a', ?, 1)"
        await tx.execute_many(added, [(1, "did:1", at(2)), (2, "did:2", at(2))])
        await tx.execute_many(post, [(1, "a", old, at(-2)), (2, "b", young, at(-2)), (3, "c", young, at(-3))])
    async with database.reading() as tx:
        found = await read_spans(tx)
        first = await read_first_posts(database, tx)
    assert found.live is not None
    assert found.backfill is not None
    assert (found.live.count, found.live.most, found.backfill.count) == (2, 2 * MINUTE, 1)
    assert first.spread is not None
    assert (first.asked, first.silent, first.spread.count, first.spread.most) == (2, 1, 1, 3 * MINUTE)
    shown = (await (await dashboard(database)).get("/work/timings")).text
    first_cells = [re.findall(r'<td class="n">(.*?)</td>', row) for row in re.findall(r"<tr>(.*?)</tr>", shown)]
    longest = [(cells[0], cells[-1]) for cells in first_cells if len(cells) == 8]
    assert all((str(each.count), brief(each.most)) in longest for each in (found.live, found.backfill, first.spread))
    note = next(note for note in re.findall(r'<p class="note">(.*?)</p>', shown) if "/data/users" in note)
    assert re.search(r"\b2\b.*\b1\b.*<time", note)


async def test_a_map_says_that_not_all_were_looked_at(database: Database) -> None:
    said = (
        "insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call) "
        "values ('place', 'user', ?, 'lisbon', 'profile', 1, 1, '{\"latitude\": 38.7, \"longitude\": -9.1}', '1', 1, 1)"
    )
    async with database.transaction() as tx:
        await tx.execute_many(said, [("a",), ("b",), ("c",)])
    assert ((await read_cells(database, 3))["is_cut"], (await read_cells(database, 4))["is_cut"]) == (True, False)
    assert (await read_cells(database))["cells"] == [[387, -91, 3, 0]]
    cells = {**await read_cells(database, 3)}
    async with database.transaction() as tx:
        await tx.execute("insert into statistics (name, body, at) values ('map', ?, 1)", msgspec.json.encode(cells).decode())
    notes = re.findall(r'<p class="note">(.*?)</p>', (await (await dashboard(database)).get("/figures/map")).text)
    assert any(re.search(r"<strong>.*</strong>[^<]*\d", note) for note in notes)


async def test_networks_are_offered_and_messages_have_a_place_of_their_own(crawled_database: Database) -> None:
    shown = (await (await dashboard(crawled_database)).get("/steering/credentials")).text
    assert "<option>message</option>" not in shown
    assert '<input type="hidden" name="provider" value="message">' in shown


_NUMBERS = (
    "/", "/crawls", f"/crawls/{CRAWL}", f"/crawls/{CRAWL}/limits", f"/crawls/{CRAWL}/frontier", f"/crawls/{CRAWL}/messages",
    "/work", "/work/calls", "/work/timings", "/machine", "/machine/tables", "/machine/statements", "/data/users", "/data/posts",
    "/data/relations", "/figures", "/figures/top", "/figures/influence", "/figures/accounts",
    "/figures/languages", "/figures/friends", f"/completeness/{CRAWL}", "/steering", "/steering/seeds",
)  # fmt: skip


async def test_every_number_says_how_old_it_is_and_leads_to_what_stands_behind_it(crawled_database: Database) -> None:
    await Preparing(crawled_database, RealClock(), rest=0).run()
    client = await dashboard(crawled_database)
    for address in _NUMBERS:
        shown = await client.get(address)
        while shown.status == 303:
            shown = await client.get(shown.headers["location"])
        assert (shown.status, _lacks(shown.text)) == (200, []), address


def _lacks(page: str) -> list[str]:
    """What a page does not say of its numbers."""
    main = page[page.index("<main") :]
    figures = re.findall(r'<div class="figure">.*?</div>', main, re.DOTALL)
    plots = re.findall(r'<figure class="plot".*?</figure>', main, re.DOTALL)
    return [
        *(["as of"] if 'class="as-of"' not in page else []),
        *([] if re.search(r'<footer class="foot">[^<]*<time datetime=', page) else ["when the page was made"]),
        *(each for each in figures if "<a " not in each and 'class="note behind"' not in main),
        *(each for each in plots if 'class="note behind"' not in each),
    ]


async def test_completeness_says_why_its_sums_differ(crawled_database: Database) -> None:
    client = await dashboard(crawled_database)
    for _ in range(100_000):
        if "data-again" not in (shown := await client.get(f"/completeness/{CRAWL}")).text:
            break
        await asyncio.sleep(0)
    days = sum(map(int, re.findall(r'<a class="value" href="/data/posts\?crawl=[^"]*">(\d+)', shown.text)))
    accounts = re.search(r"<td[^>]*>accounts</td><td>posts</td><td[^>]*>[\d,]+</td><td[^>]*>([\d,]+)</td>", shown.text)
    assert days > 0
    read = re.search(r'Timelines read so far</span>\s*<a class="value"[^>]*>([^<]+)', shown.text)
    told = re.search(r'Timelines read so far</span>\s*<a class="value"[^>]*>([^<]+)', (await client.get("/")).text)
    assert read is not None
    assert told is not None
    assert read[1] == told[1]
    requested = int(accounts[1].replace(",", "")) if accounts is not None else days
    explained = [set(re.findall(r"[\d,]+\d|\d", note)) for note in re.findall(r'<p class="note">(.*?)</p>', shown.text)]
    numbers = {f"{each:,}" for each in (days, requested, abs(days - requested))}
    assert any(numbers <= found for found in explained) == (requested != days)


async def test_what_is_missing_without_a_day_is_told_under_the_plot(crawled_database: Database) -> None:
    part = Missing(cause=Cause.BUDGET, low=30, likely=30, high=None, why="not requested yet")
    dated = Entry(subject="2026-01-05", captured=10, low=1, likely=1, high=1)
    undated = Entry(subject="undated", low=30, likely=30, high=None, missing=(part,))
    document = msgspec.json.encode({"day": View(lines=[dated, undated])}).decode()
    async with crawled_database.transaction() as tx:
        await keep_prepared(tx, f"completeness report of {CRAWL}", Prepared(RealClock().now(), timedelta(seconds=1), document))
    shown = (await (await dashboard(crawled_database)).get(f"/completeness/{CRAWL}")).text
    note = shown.partition('id="undated">')[2].partition("</p>")[0]
    assert set(re.findall(r"\d+", note)) == {"30", "31", "1", "10"}
