"""The pages of a crawl, its workers, the machine, completeness and keywords: what they show, and what people do there."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta

import pytest
from working_scene import fill, followed

from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.keywords import rows
from bowerbird.keywords.methods import ABOUT
from bowerbird.ports import Database
from bowerbird.reports.keywords.figures import FIGURES
from bowerbird.web.answers.kept import Kept
from bowerbird.web.answers.preparing import Preparing
from bowerbird.web.formats import brief
from bowerbird.web.pages.crawl.planned import Foreseen, compared
from web_site import CRAWL, Answer, Client, dashboard

PAGES = {
    "/crawls/{}": ('class="automaton"', f"/crawls/{CRAWL}/pace.json", "hashtag"),
    "/crawls/{}/limits": ("Windows", "calls of account"),
    "/crawls/{}/frontier": ("within the hour",),
    "/crawls/{}/messages": ('class="messages"', "hashtag"),
    "/crawls/{}/plan": ("Plan it now",),
    "/work": ("Workers", "Services", "100 %"),
    "/work/calls": ("Asked about", "hashtag"),
    "/work/timings": ("from lease to settle", "From writing to storing a post"),
    "/work/errors": ('class="empty"',),
    "/work/modules": ("growth", "Run now"),
    "/machine": ("Load", "this dashboard"),
    "/machine/tables": ("posts", "With indexes"),
    "/machine/tables/posts": ("post_no", "posts_author"),
    "/machine/statements": ("Slowest writes", "Claims"),
    "/completeness/{}": ("Cut by services",),
}

UNDER_WAY = "data-again"
"""What a page has that asks for itself again, because something is being made for it."""


@pytest.mark.parametrize("address", PAGES)
async def test_a_crawled_store_is_told_of(crawled_database: Database, address: str) -> None:
    answer = await (await dashboard(crawled_database)).get(address.format(CRAWL))
    assert answer.status == 200
    assert [words for words in PAGES[address] if words not in answer.text] == []


@pytest.mark.parametrize(
    "address", ["/crawls/{}/pace.json", "/work/errors.json", "/machine/growth.json", "/completeness/{}/days.json"]
)
async def test_plots_have_as_many_values_as_places(crawled_database: Database, address: str) -> None:
    told = (await (await dashboard(crawled_database)).get(address.format(CRAWL))).json()
    assert told["y_label"]
    assert all(len(each["values"]) == len(told["xs"]) for each in told["series"])


async def test_pages_of_work_answer_on_both_databases(database: Database) -> None:
    await fill(database)
    client = await dashboard(database)
    for address in PAGES:
        answer = await client.get(address.format("small"))
        assert answer.status == 200, (address, answer.text[-600:])
    shown = (await client.get("/work/errors?q=bad+gateway")).text
    assert ("502 Bad Gateway" in shown, "100% odd_one" in shown) == (True, False)
    assert (await client.get("/work/calls?worker=me")).status == 400
    assert (await client.get("/crawls/nobody")).status == 404
    assert (await client.get("/machine/tables/nothing")).status == 400


async def test_every_page_says_that_a_crawl_was_cut_off(crawled_database: Database) -> None:
    async with crawled_database.transaction() as tx:
        await tx.execute("update crawls set state = 'running', reason = null")
        await tx.execute(
            "insert into crawls (name, flow, settings, state, wanted, created_at, updated_at) "
            "select 'another', flow, settings, state, wanted, created_at, updated_at from crawls"
        )
    client = await dashboard(crawled_database)
    for address in ("/", "/crawls", f"/crawls/{CRAWL}", "/steering"):
        assert "cut off" in (await client.get(address)).text, address


async def test_a_crawl_that_nobody_runs_does_not_look_alive(crawled_database: Database) -> None:
    async with crawled_database.transaction() as tx:
        await tx.execute("update workers set seen_at = started_at + 12000000")
    client = await dashboard(crawled_database)
    shown = (await client.get(f"/crawls/{CRAWL}")).text
    facets = next(head for head in re.findall(r"<thead>.*?</thead>", shown) if "Facet" in head)
    assert (' busy"' in shown, len(re.findall(r"<th\b", facets))) == (False, 4)
    assert [value for value in ("12 s", ">1,920<") if value not in shown] == []
    steered = (await client.get("/steering")).text
    assert ("When it is started" in steered, "Hold back" in steered, ">Pause<" in steered) == (True, True, False)


@pytest.mark.parametrize(
    "topic", ["crawl/" + CRAWL, "limits/" + CRAWL, "messages/" + CRAWL, "workers", "calls", "machine", "statements"]
)
async def test_what_is_pushed_is_what_the_page_shows(crawled_database: Database, topic: str) -> None:
    client = await dashboard(crawled_database)
    name, _, argument = topic.partition("/")
    stream = client.site.live.stream(name, argument)
    told = await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert told.startswith("data: ")
    assert "<section" in told or "<table" in told


async def _when_done(client: Client, address: str) -> Answer:
    """The page as soon as it no longer says that something is under way."""
    for _ in range(100_000):
        if UNDER_WAY not in (shown := await client.get(address)).text:
            return shown
        await asyncio.sleep(0)
    raise AssertionError(f"{address} never ended")


async def test_a_module_is_run_by_hand(crawled_database: Database) -> None:
    client = await dashboard(crawled_database)
    address = f"/work/modules/{CRAWL}/growth"
    refused = await client.post(f"{address}/run", token=False)
    answer = await client.post(f"{address}/run")
    shown = await _when_done(client, address)
    assert (refused.status, answer.status, answer.headers["location"]) == (403, 303, address)
    assert "by hand" in shown.text
    assert (await client.get("/machine/growth.json")).json()["series"][0]["values"]
    assert (await client.post(f"/work/modules/{CRAWL}/nothing/run")).status == 400


async def test_nobody_erases_from_a_page_what_no_crawl_file_lets_go(crawled_database: Database) -> None:
    client = await dashboard(crawled_database)
    address = f"/work/modules/{CRAWL}/retention"
    assert (await client.post(f"{address}/run")).status == 303
    shown = (await _when_done(client, address)).text
    assert re.search(r'<p class="message bad">[^<]*\bretention\b', shown)
    async with crawled_database.reading() as tx:
        assert await tx.fetch("select 1 from module_runs where module = 'retention'") == []


async def test_completeness_is_worked_out_beside_the_request(crawled_database: Database) -> None:
    client = await dashboard(crawled_database)
    first = await client.get(f"/completeness/{CRAWL}")
    shown = await _when_done(client, f"/completeness/{CRAWL}")
    assert UNDER_WAY in first.text
    assert f'<a class="value" href="/data/posts?crawl={CRAWL}">' in shown.text
    assert (await client.post(f"/completeness/{CRAWL}/refresh")).status == 303


async def test_a_stretch_of_time_is_chosen_with_a_form_and_kept_in_links(crawled_database: Database) -> None:
    client = await dashboard(crawled_database)
    page = (await client.get(f"/crawls/{CRAWL}?span=day&log=yes")).text
    assert f'data-plot="/crawls/{CRAWL}/pace.json?span=day&amp;log=yes"' in page
    assert f'href="/crawls/{CRAWL}/limits?span=day&amp;log=yes"' in page
    assert '<option value="day" selected>Last day</option>' in page
    whole = (await client.get(f"/crawls/{CRAWL}/pace.json")).json()
    late = (await client.get(f"/crawls/{CRAWL}/pace.json?from=2027-01-01T00:00")).json()
    assert (len(whole["xs"]) > 1, late["xs"]) == (True, [])
    assert (await client.get(f"/crawls/{CRAWL}?from=never")).status == 400


async def test_a_keyword_is_blocked_and_pinned(database: Database) -> None:
    await followed(database)
    client = await dashboard(database)
    shown = (await client.get("/keywords/event")).text
    assert ("#flood" in shown, "seed" in shown) == (True, True)
    assert ABOUT["skwa"] in (await client.get("/keywords/event/term?term=%23flood")).text
    assert (await client.post("/keywords/event/order", {"term": "#flood", "said": "block"})).status == 303
    assert (await client.post("/keywords/event/order", {"term": "#storm", "said": "pin"})).status == 303
    async with database.reading() as tx:
        (method,) = await rows.read_methods(tx, 1)
    assert list(method.state.keywords) == ["#storm"]
    why = (await client.get("/keywords/event/term?term=%23flood")).text
    assert re.search(r'<li class="good">[^<]*\bowner\b', why)
    assert (await client.post("/keywords/event/order", {"term": "#flood", "said": "eat"})).status == 400
    assert (await client.post("/keywords/event/order", {"term": "", "said": "pin"})).status == 400


async def test_thresholds_are_shown_with_entries_candidates_and_terms(database: Database) -> None:
    await followed(database)
    thresholds = '{"enters_from": 0.7, "hashtag_enters_from": 0.55, "leaves_below": 0.4}'
    estimate = '{"precision": 0.5, "low": 0.35, "high": 0.625, "posts_only_it_found": 12}'
    async with database.transaction() as tx:
        await tx.execute(
            "insert into keyword_decisions (method, frame, posts, keywords, numbers) values (1, 0, '[3]', 1, ?)", thresholds
        )
        for term in ("#rain", "mud"):
            await tx.execute(
                "insert into keyword_candidates (method, frame, term, counts, verdict, numbers, together) "
                "values (1, 0, ?, '[3]', 'unlike the event', ?, '{}')",
                *(term, estimate),
            )
    client = await dashboard(database)
    shown = (await client.get("/keywords/event")).text
    moves, candidates = (shown.partition(f'id="{part}"')[2].partition("</section>")[0] for part in ("moves", "candidates"))
    assert [share in moves for share in ("70 %", "55 %", "40 %")] == [True, True, True]
    rows_of = {row.partition("<bdi>")[2].partition("</bdi>")[0]: row for row in candidates.split("<tr>")}
    assert ("≥ 55 %" in rows_of["#rain"], "≥ 70 %" in rows_of["mud"]) == (True, True)
    assert all(f"{FIGURES['posts_only_it_found'].name} 12" in rows_of[term] for term in ("#rain", "mud"))
    term = (await client.get("/keywords/event/term?term=mud")).text
    assert ("≥ 70 %" in term, "40 %" in term) == (True, True)


async def test_what_is_pinned_or_blocked_is_listed_and_taken_back(database: Database) -> None:
    await followed(database)
    client = await dashboard(database)
    assert 'id="decided"' not in (await client.get("/keywords/event")).text
    for term, said in (("#flood", "block"), ("#Tempestade", "pin"), ("#rain", "pin"), ("#rain", "free")):
        answer = await client.post("/keywords/event/order", {"term": term, "said": said})
    pinned = await client.post("/keywords/event/order", {"term": "#Inundação", "said": "pin"})
    understood = (await client.get(pinned.headers["location"])).text
    assert re.search(r'<p class="message"><bdi>#Inundação</bdi>[^<]*<strong><bdi>#inundacao</bdi></strong>', understood)
    assert '<p class="message"><bdi>' not in (await client.get(answer.headers["location"])).text
    shown = (await client.get("/keywords/event")).text.partition('id="decided"')[2].partition("</section>")[0]
    assert re.findall(r'<bdi>(.*?)</bdi>.*?<span class="state state-(\w+)">', shown) == [
        ("#inundacao", "pinned"), ("#tempestade", "pinned"), ("#flood", "blocked"),
    ]  # fmt: skip
    assert shown.count('value="free"') == 3


async def _numbers(client: Client, address: str) -> list[str]:
    return [each["label"] for each in (await client.get(address)).json()["series"]]


async def test_an_event_without_frames_has_empty_plots(database: Database) -> None:
    await followed(database)
    client = await dashboard(database)
    assert await _numbers(client, "/keywords/event/posts.json") == []
    assert await _numbers(client, "/keywords/event/traffic.json?term=flood") == []


async def test_an_answer_is_kept_for_a_while() -> None:
    asked: list[str] = []

    async def ask(about: str) -> int:
        asked.append(about)
        return len(asked)

    kept = Kept(RealClock(), timedelta(hours=1), ask)
    assert [(await kept.get(about)).value for about in ("a", "a", "b")] == [1, 1, 2]
    assert (await Kept(RealClock(), timedelta(0), ask).get("a")).value == 3


async def test_nothing_is_held_for_names_that_were_asked_about_in_vain() -> None:
    async def ask(about: str) -> int:
        if about.startswith("no"):
            raise UserError("there is no such thing")
        await asyncio.sleep(0)
        return 1

    kept = Kept(RealClock(), timedelta(hours=1), ask)
    for number in range(5):
        with pytest.raises(UserError):
            await kept.get(f"no {number}")
    answers = await asyncio.gather(*(kept.get("yes") for _ in range(3)))
    assert len(set(map(id, answers))) == 1
    assert kept.asked_now == 0


async def test_a_report_that_fails_leaves_the_last_one(database: Database) -> None:
    preparing = Preparing(database, RealClock())

    async def good() -> str:
        return "{}"

    async def bad() -> str:
        raise ValueError("no")

    assert preparing.begin("it", good)
    assert not preparing.begin("it", good)
    await preparing.done("it")
    preparing.begin("it", bad)
    await preparing.done("it")
    prepared = await preparing.report("it")
    assert prepared.made is not None
    assert (prepared.made.document, prepared.failed, prepared.since) == ("{}", "ValueError: no", None)


def test_a_plan_is_held_against_what_happened() -> None:
    steps = [[0.0, 0.0, 0.0], [80.0, 100.0, 120.0]]
    plan = Foreseen(
        hours=[0.0, 2.0], counts=dict.fromkeys(("calls", "items", "users", "posts"), steps), ends_after=None, ends_because="",
        bottleneck=None, seeds=1,
    )  # fmt: skip
    lines = {line.what: line for line in compared(plan, timedelta(hours=1), {"calls": 50, "items": 10, "users": 70, "posts": 60})}
    assert (lines["calls"].low, lines["calls"].likely, lines["calls"].high) == (40.0, 50.0, 60.0)
    words = {what: line.words for what, line in lines.items()}
    assert words["calls"] == words["posts"]
    assert len({words["calls"], words["items"], words["users"]}) == 3
    assert ("less" in words["items"], "more" in words["users"]) == (True, True)


def test_short_times_are_told_in_small_units() -> None:
    told = [brief(timedelta(seconds=each)) for each in (0.000085, 0.0125, 0.25, 1.4, 90)]
    assert told == ["85 µs", "12.5 ms", "250 ms", "1.4 s", "1 min 30 s"]
