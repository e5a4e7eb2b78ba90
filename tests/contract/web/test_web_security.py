"""The dashboard lets nobody in who should not be, and nobody do what they may not; and says afterwards who did what."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import UserError
from bowerbird.ports import Database
from bowerbird.reports.actions import read_actions
from bowerbird.reports.overview.attention import Need
from bowerbird.transport.serving import punctual
from bowerbird.web.dashboard import dashboard_routes
from bowerbird.web.security import Door, Form, Guard, Role, check_door, check_routes, open_to_all, people, sessions
from bowerbird.web.security.guard import role_of
from bowerbird.web.security.passwords import Passwords
from bowerbird.web.security.tries import MOST_BY_ADDRESS, MOST_BY_NAME, WHILE, Tries
from bowerbird.web.site import Site
from failures import page_error, raises_code
from web_site import CHEAP, Answer, Client, Unsteady, dashboard

PASSWORD = "correct horse battery"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Later(RealClock):
    """A clock that a test can set forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


@pytest.fixture
async def store() -> AsyncIterator[Database]:
    """A store in memory, for what does not depend on the kind of database."""
    opened = await open_database(":memory:", RealClock())
    await opened.create_tables()
    yield opened
    await opened.close()


async def with_people(database: Database, clock: RealClock | None = None, door: Door | None = None) -> Site:
    """A dashboard with ada (admin), steve (steer) and rita (read), who all have the same password."""
    site = Site(database, clock or RealClock(), "store", cost=CHEAP, door=door)
    hash_ = await Passwords(site.clock, CHEAP).hash(PASSWORD)
    async with database.transaction() as tx:
        for name, role in (("ada", Role.ADMIN), ("steve", Role.STEER), ("rita", Role.READ)):
            await people.add(tx, name, hash_, role, site.clock.now())
    return site


async def logged_in(site: Site, name: str) -> Client:
    client = Client(site)
    assert (await client.log_in(name, PASSWORD)).status == 303
    return client


async def recorded(database: Database) -> list[tuple[str, str, str]]:
    async with database.reading() as tx:
        return [(each.who, each.what, each.outcome) for each in await read_actions(tx)]


async def test_a_name_and_its_password_open_a_session_that_a_logout_ends(database: Database) -> None:
    site = await with_people(database)
    client = Client(site)
    assert (await client.get("/", {"accept": "text/html"})).headers["location"] == "/login"
    answer = await client.log_in("ADA", PASSWORD)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert (await client.get("/")).status == 200
    taken = dict(client.cookies)
    assert (await client.post("/logout")).status == 303
    client.cookies = taken
    assert (await client.get("/")).status == 401


async def test_wrong_passwords_and_unknown_names_are_told_the_same_and_no_name_is_kept(database: Database) -> None:
    site = await with_people(database)
    wrong, unknown = await Client(site).log_in("rita", "wrong"), await Client(site).log_in(PASSWORD, "x")
    assert wrong.status == unknown.status == 401
    shown = [re.findall(r'<p class="message bad" role="alert">(.*?)</p>', answer.text) for answer in (wrong, unknown)]
    assert shown[0] == shown[1]
    assert len(shown[0]) == 1
    assert await recorded(database) == [("somebody", "log in", "refused"), ("rita", "log in", "refused")]


@pytest.mark.parametrize("address", ["/", "/people", "/data", "/live/overview", "/nowhere", "/steering"])
async def test_strangers_are_shown_nothing(store: Database, address: str) -> None:
    site = await with_people(store)
    client = Client(site)
    client.cookies = {"bowerbird": sessions.fresh_id()}
    assert (await client.get(address)).status == 401
    assert (await client.get(address, {"accept": "text/html"})).headers["location"].startswith("/login")


async def test_a_session_ends_when_it_is_idle_and_in_any_case_after_a_week(database: Database) -> None:
    clock = Later()
    site = await with_people(database, clock)
    used, idle = await logged_in(site, "rita"), await logged_in(site, "rita")
    for _ in range(8):
        assert (await used.get("/help")).status == 200
        clock.ahead += timedelta(hours=20)
    assert (await idle.get("/help")).status == 401
    clock.ahead += timedelta(hours=10)
    assert (await used.get("/help")).status == 401


async def test_changing_a_password_or_role_ends_the_sessions_of_that_person_alone(database: Database) -> None:
    site = await with_people(database)
    ada, here, there = await logged_in(site, "ada"), await logged_in(site, "steve"), await logged_in(site, "steve")
    new = {"password": "another long one", "again": "another long one"}
    assert (await here.post("/people/own", {"old": "wrong", **new})).status == 400
    assert (await here.post("/people/own", {"old": PASSWORD, **new})).status == 303
    assert (await here.get("/")).status == 200
    assert (await there.get("/")).status == 401
    assert (await ada.post("/people/role", {"name": "steve", "role": "read"})).status == 303
    assert (await here.get("/")).status == 401
    assert (await ada.post("/people/remove", {"name": "rita"})).status == 303
    assert (await Client(site).log_in("rita", PASSWORD)).status == 401
    assert [each[1:] for each in await recorded(database) if each[0] == "ada"][:2] == [
        ("remove person", "done"),
        ("give the role read", "done"),
    ]


async def test_the_last_admin_stays_and_nobody_gets_a_weak_password(database: Database) -> None:
    site = await with_people(database)
    ada = await logged_in(site, "ada")
    last = page_error(await ada.post("/people/role", {"name": "ada", "role": "read"}))
    assert (last.code, "ada" in last.problem) == ("refused", True)
    assert (await ada.post("/people/remove", {"name": "ada"})).status == 400
    for weak in ("short", "aaaaaaaaaaaa", "newcomer12"):
        form = {"name": "newcomer", "role": "read", "password": weak, "again": weak}
        assert (await ada.post("/people/add", form)).status == 400
    form = {"name": "newcomer", "role": "read", "password": PASSWORD, "again": PASSWORD + "x"}
    assert page_error(await ada.post("/people/add", form)).code == "weak_password"
    assert (await ada.post("/people/add", {**form, "again": PASSWORD})).status == 303
    assert page_error(await ada.post("/people/add", {**form, "again": PASSWORD})).code == "already_exists"


async def test_every_action_is_refused_to_whoever_lacks_its_role_and_written_down(store: Database) -> None:
    site = await with_people(store)
    clients = {role: await logged_in(site, name) for role, name in ((Role.READ, "rita"), (Role.STEER, "steve"))}
    acting = [route for route in dashboard_routes(site) if isinstance(route, Route) and route.methods == {"POST"}]
    needed = {route.path: role_of(route.endpoint) for route in acting}
    assert {"/people/add", "/people/role", "/people/password", "/people/remove"} <= needed.keys()
    for path, role in needed.items():
        for own, client in clients.items():
            if role is not None and own < role:
                address = re.sub(r"{(\w+):?(\w*)}", lambda found: "1" if found[2] == "int" else found[1], path)
                assert (await client.post(address, {"name": "ada", "role": "admin"})).status == 403, (path, own)
    assert ("rita", "POST /people/add", "refused") in await recorded(store)


async def test_an_address_that_changes_something_must_say_who_may_ask_for_it(store: Database) -> None:
    guard = Guard(store, RealClock(), cost=CHEAP)

    async def page(request: Request) -> Response:
        return Response("")

    async def act(request: Request, form: Form) -> Response:
        return Response("")

    check_routes([Route("/a", page), Route("/b", guard.acting(Role.READ, act), methods=["POST"])])
    for wrong in (Route("/c", page, methods=["POST"]), Route("/d", page, methods=["GET", "DELETE"]), Mount("/e", routes=[])):
        with pytest.raises(UserError):
            check_routes([wrong])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:81"}, 403),
        ({"origin": "https://127.0.0.1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1@evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": ""}, 421),
        ({"content-length": "2000000"}, 413),
    ],
)
async def test_forms_come_from_our_own_pages_under_our_own_name(store: Database, headers: dict[str, str], status: int) -> None:
    client = await dashboard(store)
    assert (await client.post("/logout", headers=headers)).status == status


async def test_another_site_gets_no_part_of_ours_but_may_link_to_it(store: Database) -> None:
    client = await dashboard(store)
    foreign = {"sec-fetch-site": "cross-site", "accept": "text/html"}
    assert (await client.get("/", {**foreign, "sec-fetch-mode": "no-cors"})).status == 403
    assert (await client.get("/", {**foreign, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"})).status == 403
    client.cookies.clear()
    once_more = await client.get("/people?a=%22%3E%3Cscript%3E", {**foreign, "sec-fetch-mode": "navigate"})
    assert (once_more.status, "<script" in once_more.text) == (200, False)
    assert 'http-equiv="refresh"' in once_more.text


async def test_every_answer_says_what_browsers_are_to_refuse(store: Database) -> None:
    client = await dashboard(store)
    answers = [await client.get(path) for path in ("/", "/login", "/nowhere", "/assets/style.css", "/live/nothing")]
    answers.append(await client.get("/", {"host": "evil.example"}))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answers[0].headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in answers[0].headers


async def test_with_tls_the_cookie_is_for_tls_alone_and_the_browser_stays_with_it(store: Database) -> None:
    site = await with_people(store, door=Door(names=("crawl.example",), is_tls=True))
    client = Client(site, "crawl.example")
    token = (await client.get("/login")).text.partition('name="token" value="')[2].partition('"')[0]
    form = {"name": "ada", "password": PASSWORD, "token": token}
    answer = await client.post("/login", form, {"origin": "https://crawl.example"}, token=False)
    assert "__Host-bowerbird" in client.cookies
    assert answer.headers["set-cookie"].endswith("Secure")
    assert "max-age" in answer.headers["strict-transport-security"]


async def test_the_key_of_the_terminal_opens_once_and_only_while_nobody_has_a_password(database: Database) -> None:
    client = await dashboard(database)
    assert (await client.get("/")).status == 200
    other = Client(client.site)
    key = await client.site.guard.entrance.key()
    assert (await other.get("/enter?key=wrong")).status == 401
    assert (await other.get(f"/enter?key={key}")).headers["location"] == "/"
    assert (await Client(client.site).get(f"/enter?key={key}")).status == 401
    hash_ = await Passwords(RealClock(), CHEAP).hash(PASSWORD)
    async with database.transaction() as tx:
        with raises_code(UserError, "refused"):
            await people.add(tx, "ada", hash_, Role.READ, NOW)
        await people.add(tx, "ada", hash_, Role.ADMIN, NOW)
    assert (await client.get("/")).status == (await other.get("/")).status == 401
    assert await client.site.guard.entrance.key() is None


async def test_a_session_without_a_person_opens_nothing_where_others_can_come_in(store: Database) -> None:
    client = await dashboard(store)
    client.site.guard.door = Door(host="0.0.0.0", names=("127.0.0.1",))
    assert (await client.get("/")).status == 401


async def test_nobody_listens_to_others_before_somebody_has_a_password(store: Database) -> None:
    await check_door(Door(), store, "x.db")
    for door in (Door(host="0.0.0.0"), Door(names=("crawl.example",))):
        with raises_code(UserError, "needs_password") as caught:
            await check_door(door, store, "x.db")
        assert "bowerbird people add NAME --store x.db" in caught.value.advice
    await with_people(store)
    await check_door(Door(host="0.0.0.0"), store, "x.db")


async def test_tries_are_counted_by_name_and_address_and_survive_a_restart(database: Database) -> None:
    for number in range(MOST_BY_NAME):
        assert await Tries(database).charge("ada", f"10.0.0.{number}", NOW) is None
    assert await Tries(database).charge("ada", "10.0.0.99", NOW) == NOW + WHILE
    assert await Tries(database).charge("rita", "10.0.0.99", NOW) is None
    assert await Tries(database).charge("ada", "10.0.0.99", NOW + WHILE) is None
    for number in range(MOST_BY_ADDRESS):
        assert await Tries(database).charge(f"name{number}", f"2001:db8::{number}", NOW) is None
    assert await Tries(database).charge("other", "2001:db8::ffff", NOW) == NOW + WHILE
    assert await Tries(database).charge("other", "2001:db8:0:1::", NOW) is None


async def test_right_passwords_of_many_from_one_address_shut_nobody_out(database: Database) -> None:
    tries = Tries(database)
    for number in range(2 * MOST_BY_ADDRESS):
        assert await tries.charge(f"name{number}", "10.0.0.1", NOW) is None
        async with database.transaction() as tx:
            await tries.forgive(tx, f"name{number}", "10.0.0.1", NOW)
    for number in range(MOST_BY_ADDRESS):
        assert await tries.charge(f"other{number}", "10.0.0.1", NOW) is None
    assert await tries.charge("other", "10.0.0.1", NOW) is not None


async def test_strangers_who_try_a_name_do_not_shut_its_owner_out(database: Database) -> None:
    tries = Tries(database)
    async with database.transaction() as tx:
        await tries.forgive(tx, "ada", "10.0.0.1", NOW)
    for number in range(MOST_BY_NAME + 1):
        refused = await tries.charge("ada", f"10.0.1.{number}", NOW)
    assert refused is not None
    assert await tries.charge("ada", "10.0.0.1", NOW) is None


async def test_a_thousand_wrong_logins_at_once_are_few_hashes_and_leave_few_rows(store: Database) -> None:
    site = await with_people(store)
    answers: list[Answer] = await asyncio.gather(*(Client(site).log_in("rita", "wrong") for _ in range(200)))
    statuses = [answer.status for answer in answers]
    assert statuses.count(429) >= 200 - MOST_BY_NAME
    assert statuses.count(401) <= MOST_BY_NAME
    assert set(statuses) <= {401, 429}
    assert len(await recorded(store)) <= MOST_BY_NAME
    assert (await Client(site).log_in("rita", PASSWORD)).status == 429


async def test_an_action_is_written_down_whatever_comes_of_it(database: Database) -> None:
    client = await dashboard(database)

    async def act(request: Request, form: Form) -> Response:
        async def do() -> None:
            if form["how"] == "badly":
                raise UserError("it cannot be")

        await client.site.act(request, "try", str(form["how"]), do)
        return Response("done")

    client.add("/try", client.site.acting(Role.STEER, act))
    assert (await client.post("/try", {"how": "well"})).status == 200
    assert (await client.post("/try", {"how": "badly"})).status == 400
    async with database.reading() as tx:
        newest, before = await read_actions(tx, most=2)
        assert [each.subject for each in await read_actions(tx, before=newest.action)] == ["well"]
        assert await read_actions(tx, who="nobody") == []
    assert (newest.who, newest.outcome, newest.detail) == ("owner", "failed", "it cannot be")
    assert (before.subject, before.role, before.outcome) == ("well", "admin", "done")


async def test_who_acts_on_an_old_page_is_told_who_was_faster(database: Database) -> None:
    site = await with_people(database)
    ada, steve = await logged_in(site, "ada"), await logged_in(site, "steve")
    done = []

    async def act(request: Request, form: Form) -> Response:
        async def do() -> None:
            done.append(str(form["what"]))

        await site.act(request, str(form["what"]), "the crawl", do)
        return Response("done")

    for client in (ada, steve):
        client.add("/steer", site.acting(Role.STEER, act))
    page_of_steve = site.guard.now_seen()
    assert (await ada.post("/steer", {"what": "pause", "seen": site.guard.now_seen()})).status == 200
    late = await steve.post("/steer", {"what": "stop", "seen": page_of_steve})
    error = page_error(late)
    assert (late.status, error.code) == (409, "changed_meanwhile")
    assert all(value in error.problem for value in ("ada", "pause"))
    assert (await steve.post("/steer", {"what": "stop", "seen": site.guard.now_seen()})).status == 200
    assert done == ["pause", "stop"]


async def test_what_is_watched_live_ends_with_the_session(store: Database) -> None:
    clock = Later()
    site = await with_people(store, clock)
    client = await logged_in(site, "rita")
    sent = []

    async def forever(request: Request) -> Response:
        async def events() -> AsyncIterator[str]:
            while len(sent) < 100:
                sent.append("x")
                if len(sent) == 3:
                    async with store.transaction() as tx:
                        await people.remove(tx, "rita")
                clock.ahead += timedelta(seconds=4)
                yield "data: x\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    client.add("/forever", forever)
    client.stays = True
    assert (await client.get("/forever")).status == 200
    assert 3 <= len(sent) <= 6


async def test_while_the_database_is_away_nothing_is_shown_but_that(store: Database) -> None:
    unsteady = Unsteady(store)
    client = await dashboard(cast("Database", unsteady))
    unsteady.is_away = True
    answer = await client.get("/")
    assert (answer.status, page_error(answer).code) == (503, "database_busy")
    assert "test store" not in answer.text
    assert (await client.get("/assets/style.css")).headers["content-type"].startswith("text/css")
    assert (await client.get("/login")).status == 503
    unsteady.is_away = False
    assert (await client.get("/")).status == 200


async def test_strangers_send_little_before_anybody_listens(store: Database) -> None:
    client = Client(await with_people(store))
    token = (await client.get("/login")).text.partition('name="token" value="')[2].partition('"')[0]
    form = {"name": "rita", "password": "x" * 20_000, "token": token}
    assert (await client.post("/login", form, {"content-length": "10"}, token=False)).status == 413


@pytest.mark.parametrize("target", ["//evil.example", "https://e.example", "/\\evil.example", "/a\r\nx: y", "javascript:x"])
async def test_nobody_is_led_elsewhere_after_logging_in(store: Database, target: str) -> None:
    site = await with_people(store)
    client = Client(site)
    token = (await client.get("/login")).text.partition('name="token" value="')[2].partition('"')[0]
    form = {"name": "rita", "password": PASSWORD, "token": token, "next": target}
    answer = await client.post("/login", form, token=False)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert (await Client(site).get("/login?next=/data%2Fposts")).text.count('value="/data/posts"') == 1


async def test_characters_that_no_database_takes_are_refused_everywhere(database: Database) -> None:
    site = await with_people(database)
    for name, password in (("a\0b", "x\0"), ("\ufffd\u202e", "\u0130"), ("ada", "x" * 5_000)):
        assert (await Client(site).log_in(name, password)).status == 401
    ada = await logged_in(site, "ada")
    assert (await ada.get("/people?done=%00")).status == 400
    assert (await ada.get("/users/a%00b")).status == 400
    assert (await ada.post("/people/role", {"name": "rita\0", "role": "read"})).status == 400


async def test_an_open_browser_is_no_way_to_guess_a_password(store: Database) -> None:
    rita = await logged_in(await with_people(store), "rita")
    new = {"password": "another long one", "again": "another long one"}
    statuses = [(await rita.post("/people/own", {"old": f"wrong {number}", **new})).status for number in range(MOST_BY_NAME + 2)]
    assert statuses[0] == 400
    assert statuses[-1] == 429
    assert (await rita.post("/people/own", {"old": PASSWORD, **new})).status == 429


async def test_an_open_address_opens_no_other_method_of_the_same_path(store: Database) -> None:
    site = await with_people(store)
    client = Client(site)

    async def page(request: Request) -> Response:
        return Response("shown")

    client.add("/both", page)
    client.routes.insert(0, Route("/both", open_to_all(page), methods=["POST"]))
    assert (await client.get("/both")).status == 401
    assert (await client.post("/both", token=False)).text == "shown"


_COUNT_AGAIN = {"/figures/refresh", "/completeness/{name}/refresh", "/keywords/{name}/refresh"}
ACTIONS_OF_READERS = {"/logout", "/people/own", "/data/saved"} | _COUNT_AGAIN
"""What people may do who may only look: things of their own, keeping a search, and asking for numbers to be made anew."""


async def test_only_what_is_ones_own_is_done_by_those_who_may_only_look(store: Database) -> None:
    site = Site(store, RealClock(), "store", cost=CHEAP)
    routes = [each for each in dashboard_routes(site) if isinstance(each, Route)]
    acting = {each.path: role_of(each.endpoint) for each in routes if "POST" in (each.methods or ())}
    assert {path for path, role in acting.items() if role is Role.READ} == ACTIONS_OF_READERS
    assert {path for path, role in acting.items() if role is None} == {"/login"}


class Line:
    """A connection of which a test says from where it comes."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.is_aborted = False

    def get_extra_info(self, name: str) -> tuple[str, int] | None:
        return (self._address, 1) if name == "peername" else None

    def close(self) -> None: ...

    def abort(self) -> None:
        self.is_aborted = True


class Held:
    """What a server does with a connection: nothing here."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()

    def connection_made(self, transport: Line) -> None:
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None: ...


async def test_one_machine_cannot_have_all_connections_and_gets_others_when_it_lets_go() -> None:
    protocol = punctual(Held, 3600.0, most_of_one=2)

    def opened(address: str) -> tuple[Any, Line]:
        made, line = protocol(), Line(address)
        made.connection_made(line)
        return made, line

    lines = [opened(address) for address in ("10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", *4 * ["127.0.0.1"])]
    assert [line.is_aborted for _, line in lines] == [False, False, True, *5 * [False]]
    for made, _ in lines[:3]:
        made.connection_lost(None)
    again = opened("10.0.0.1")
    assert not again[1].is_aborted
    for made, _ in (*lines[3:], again):
        made.connection_lost(None)


async def test_nothing_leads_a_reader_to_a_page_that_is_refused_and_the_refusal_says_who_gives_roles(database: Database) -> None:
    rita = await logged_in(await with_people(database), "rita")
    refused = await rita.get("/steering/credentials")
    error = page_error(refused)
    assert (refused.status, error.code) == (403, "refused")
    assert all(value in str(error) for value in ("rita", "read", "steer", "admin", "bowerbird people role"))
    need = Need(what="refused", path="/steering/credentials", is_for_steer=True)
    told = rita.site.fragment("overview/needs.html", seen=SimpleNamespace(needs=[need]))
    assert '<span class="for-readers">refused</span>' in told
    pages = [
        told,
        *[(await rita.get(path)).text for path in ("/", "/steering", "/steering/new", "/steering/seeds", "/people", "/help")],
    ]
    links = {link for page in pages for link in re.findall(r'<a (?!class="[^"]*for-steer)[^>]*href="(/[^"#]*)"', page)}
    assert {link for link in links if (await rita.get(link)).status == 403} == set()
