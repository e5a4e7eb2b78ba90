"""The frame of the dashboard: every area answers, escapes, says what went wrong, and pushes what changed to all who watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from bowerbird.clock import RealClock
from bowerbird.errors import Busy, UserError
from bowerbird.ports import Database
from bowerbird.web import formats
from bowerbird.web.answers.crowd import OF_STRANGERS, Crowd
from bowerbird.web.answers.live import Live, event
from bowerbird.web.errors import NotFound
from bowerbird.web.navigation import AREAS, Area, area_of
from bowerbird.web.security import Form, Role
from failures import page_error
from web_site import CRAWL, Answer, Client, dashboard


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name)
async def test_every_area_answers_on_an_empty_store(database: Database, area: Area) -> None:
    client = await dashboard(database)
    answer = await _followed(client, area.path)
    assert answer.status == 200
    assert 'aria-current="page"' in answer.text


async def _followed(client: Client, path: str) -> Answer:
    answer = await client.get(path)
    while answer.status in (302, 303, 307):
        answer = await client.get(answer.headers["location"])
    return answer


async def test_the_overview_shows_the_crawl(crawled_database: Database) -> None:
    answer = await (await dashboard(crawled_database)).get("/")
    assert answer.status == 200
    assert f'href="/crawls/{CRAWL}"' in answer.text
    assert 'class="empty"' not in answer.text


async def test_an_unknown_address_is_answered_in_the_layout(database: Database) -> None:
    answer = await (await dashboard(database)).get("/nowhere")
    assert (answer.status, page_error(answer).code) == (404, "unknown_page")
    assert 'class="areas"' in answer.text


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (UserError("write <b>less</b>", code="invalid_file"), 400, "invalid_file"),
        (NotFound("no user 7"), 404, "not_found"),
        (Busy("away"), 503, "database_busy"),
    ],
)
async def test_what_goes_wrong_is_said_on_a_page(database: Database, error: Exception, status: int, code: str) -> None:
    client = await dashboard(database)

    async def failing(request: Request) -> Response:
        raise error

    client.add("/failing", failing)
    answer = await client.get("/failing")
    shown = page_error(answer)
    assert (answer.status, shown.code) == (status, code)
    assert "<b>" not in answer.text
    assert isinstance(error, Busy) or shown.problem == str(error)


def test_numbers_times_and_links_are_written_for_people() -> None:
    now = RealClock().now()
    assert formats.number(12_345) == "12,345"
    assert formats.number(None) == formats.NONE
    assert formats.rate(0.01) == "0.6/min"
    assert formats.size(5_000_000) == "4.8 MB"
    assert formats.share(999_999, 1_000_000) == "99.9 %"
    assert formats.age(now - timedelta(minutes=3), now) == "3 min ago"
    assert formats.safe_link("https://example.org/a") == "https://example.org/a"
    assert [formats.safe_link(bad) for bad in ("javascript:alert(1)", "data:text/html,x", "//x", "", None, "http://[")] == [
        ""
    ] * 6


def test_every_area_has_a_key_of_its_own() -> None:
    assert len({area.key for area in AREAS}) == len(AREAS)
    assert area_of("/users/did%3Aplc%3A1") == "Data"
    assert area_of("/crawls/x/limits") == "Crawl"
    assert area_of("/database") == ""


async def test_one_computation_serves_all_who_watch_and_none_runs_when_nobody_does() -> None:
    live, computed = Live(RealClock(), every=timedelta(0)), []

    async def compute(argument: str) -> str:
        computed.append(argument)
        return f"<p>{argument}\n{min(len(computed), 2)}</p>"

    live.add("topic", compute)
    async with aclosing(live.stream("topic", "a")) as one, aclosing(live.stream("topic", "a")) as two:
        assert await anext(one) == await anext(two) == event("<p>a\n1</p>") == "data: <p>a\ndata: 1</p>\n\n"
        assert len(computed) == 1
        assert await anext(one) == event("<p>a\n2</p>")
        assert live.watchers == 2
    assert live.watchers == 0
    done = len(computed)
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(computed) == done


async def test_a_computation_that_fails_leaves_what_was_told_and_goes_on() -> None:
    live, tries = Live(RealClock(), every=timedelta(0)), []

    async def compute(argument: str) -> str:
        tries.append(argument)
        if len(tries) == 2:
            raise Busy("away")
        return str(len(tries))

    live.add("topic", compute)
    async with aclosing(live.stream("topic")) as watched:
        assert [await anext(watched) for _ in range(2)] == [event("1"), event("3")]


async def test_whoever_watches_is_let_go_when_the_dashboard_ends() -> None:
    live = Live(RealClock(), every=timedelta(hours=1))

    async def compute(argument: str) -> str:
        return "once"

    live.add("topic", compute)
    watched = [each async for each in _closing(live)]
    assert watched == [event("once")]


async def test_whoever_watches_many_topics_keeps_few_of_them_busy() -> None:
    live, at_once, most = Live(RealClock(), every=timedelta(hours=1)), 0, 0

    async def compute(argument: str) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        for _ in range(5):
            await asyncio.sleep(0)
        at_once -= 1
        return argument

    live.add("topic", compute)
    watched = [live.stream("topic", str(number)) for number in range(20)]
    told = await asyncio.gather(*(anext(each) for each in watched))
    for each in watched:
        await each.aclose()
    assert sorted(told) == sorted(event(str(number)) for number in range(20))
    assert most == 4


async def _closing(live: Live) -> AsyncIterator[str]:
    async for each in live.stream("topic"):
        yield each
        asyncio.get_running_loop().call_soon(live.close)


async def test_scripts_and_style_are_ours_and_nothing_else_is_served(database: Database) -> None:
    client = await dashboard(database)
    style = await client.get("/assets/style.css?v=1")
    assert style.status == 200
    assert "immutable" in style.headers["cache-control"]
    for path in ("/assets/..%2fsite.py", "/assets/%2e%2e/site.py", "/assets/nothing.js", "/assets/foreign/..%2fsite.py"):
        assert (await client.get(path)).status == 404


async def test_no_page_holds_script_or_style_of_its_own(crawled_database: Database) -> None:
    client = await dashboard(crawled_database)
    for path in [*(area.path for area in AREAS), "/help", f"/crawls/{CRAWL}"]:
        text = (await _followed(client, path)).text
        assert " style=" not in text, path
        assert "<style" not in text, path
        assert "<script>" not in text, path
        assert " onclick=" not in text, path


async def test_an_action_needs_the_token_of_the_page(database: Database) -> None:
    client, done = await dashboard(database), []

    async def act(request: Request, form: Form) -> Response:
        done.append(form["what"])
        return Response("done")

    client.add("/act", client.site.acting(Role.STEER, act))
    assert (await client.post("/act", {"what": "a"})).status == 200
    assert (await client.post("/act", {"what": "b"}, token=False)).status == 403
    assert (await client.post("/act", {"what": "c", "token": "wrong"})).status == 403
    assert done == ["a"]


SOMEBODY = {"type": "http", "visitor": "ada"}
STRANGER = {"type": "http", "path": "/login", "visitor": None}


async def test_a_flood_of_strangers_takes_no_turn_from_people_and_is_refused_late_and_cheaply() -> None:
    inside, go, clock, told = 0, asyncio.Event(), Later(), list[int]()

    async def page(scope: Any, receive: Any, send: Any) -> None:
        nonlocal inside
        inside += 1
        if scope["visitor"] is None:
            await go.wait()
        await PlainTextResponse("wrong", 429 if scope["visitor"] is None else 200)(scope, receive, send)

    async def send(message: Any) -> None:
        told.extend([message["status"]] if "status" in message else [])

    crowd = Crowd(page, clock)
    strangers = [asyncio.create_task(crowd(STRANGER, None, send)) for _ in range(100)]
    await settled()
    assert inside == OF_STRANGERS
    await crowd({**SOMEBODY, "path": "/"}, None, send)
    assert told == [200]
    go.set()
    await settled()
    # A refusal is told after a while, and holds no turn meanwhile.
    assert (inside, told) == (1 + OF_STRANGERS + 40, [200])
    clock.later.set()
    await asyncio.gather(*strangers)
    assert told == [200] + 100 * [429]


async def settled() -> None:
    """Lets everything run that can."""
    for _ in range(300):
        await asyncio.sleep(0)


class Later(RealClock):
    """A clock on which whoever waits for a time waits for the test's word."""

    def __init__(self) -> None:
        super().__init__()
        self.later = asyncio.Event()

    async def sleep_until(self, when: datetime) -> None:
        await self.later.wait()


async def test_a_crowd_waits_its_turn_and_those_who_watch_are_not_counted() -> None:
    inside, most, go = 0, 0, asyncio.Event()

    async def page(scope: Any, receive: Any, send: Any) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await go.wait()
        inside -= 1

    crowd = Crowd(page, RealClock(), at_once=3)
    asked = [asyncio.create_task(crowd({**SOMEBODY, "path": "/"}, None, None)) for _ in range(9)]
    watching = asyncio.create_task(crowd({**SOMEBODY, "path": "/live/overview"}, None, None))
    for _ in range(5):
        await asyncio.sleep(0)
    assert inside == 4
    go.set()
    await asyncio.gather(*asked, watching)
    assert most == 4


async def test_what_is_sent_piece_by_piece_takes_no_turn_from_others() -> None:
    read = asyncio.Event()

    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def send(message: Any) -> None:
        await read.wait()

    async def taken(message: Any) -> None: ...

    crowd = Crowd(page, RealClock(), at_once=1)
    slow = asyncio.create_task(crowd({**SOMEBODY, "path": "/"}, None, send))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await crowd({**SOMEBODY, "path": "/"}, None, taken)
    read.set()
    await slow
