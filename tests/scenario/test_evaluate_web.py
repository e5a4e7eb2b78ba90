"""`bowerbird evaluate web`: nobody gets in and nothing runs; and where a protection is missing, it is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from html import unescape
from typing import Any

import pytest

from bowerbird.evaluate.web import Wish, evaluate_web
from bowerbird.evaluate.web.pages import Page
from bowerbird.web.dashboard import dashboard
from bowerbird.web.security import sessions
from bowerbird.web.site import Site

App = Callable[[Any, Any, Any], Awaitable[None]]


def evaluated(*only: str, build: Callable[[Site], Any] = dashboard, logins: int = 0) -> dict[str, Any]:
    wish = Wish(logins=logins, of_a_kind=1, only=only, with_browser=False, build=build, say=lambda words: None)
    return evaluate_web(wish)


def test_nobody_gets_in() -> None:
    figures = evaluated("roles", "tokens", "redirects", "keys", "caches", "files", "reach", "logins", logins=60)
    assert (figures["let_in"], figures["what"], figures["failures"]) == (0, [], [])
    assert figures["tried"] > 500
    assert figures["fields"] > 100
    assert figures["by_kind"]["wrong logins"] == 60


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nobody_gets_in_by_any_attack_and_nothing_runs() -> None:
    figures = evaluate_web(Wish(say=lambda words: None))
    assert (figures["let_in"], figures["executed"], figures["what"]) == (0, 0, [])
    assert figures["failures"] == []
    assert figures["fields"] > 100
    assert figures["pages_with_markup"] > 5
    assert figures["by_kind"]["wrong logins"] == 1_000


def changed(app: App, headers: Callable[[dict[bytes, bytes]], None]) -> App:
    """An application that is told other headers than were sent."""

    async def weak(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            told = dict(scope["headers"])
            headers(told)
            scope = {**scope, "headers": list(told.items())}
        await app(scope, receive, send)

    return weak


@pytest.mark.long
def test_a_dashboard_that_believes_any_origin_and_host_is_found_out() -> None:
    def believing(site: Site) -> App:
        def forget(headers: dict[bytes, bytes]) -> None:
            for name in (b"origin", b"sec-fetch-site"):
                headers.pop(name, None)
            headers[b"host"] = b"127.0.0.1"

        return changed(dashboard(site), forget)

    figures = evaluated("origins", build=believing)
    assert figures["let_in"] > 100
    assert not figures["is_clean"]


@pytest.mark.long
def test_a_dashboard_that_takes_everybody_for_the_admin_is_found_out() -> None:
    def trusting(site: Site) -> App:
        held: list[str] = []

        async def weak(scope: Any, receive: Any, send: Any) -> None:
            if not held:
                async with site.database.transaction() as tx:
                    held.append(await sessions.begin(tx, "ada", site.clock.now()))
            port = dict(scope["headers"])[b"host"].decode().rpartition(":")[2]
            cookie = f"bowerbird{port}={held[0]}".encode()
            login = [value for name, value in scope["headers"] if name == b"cookie" and b"-login" in value]
            headers = [pair for pair in scope["headers"] if pair[0] != b"cookie"]
            await app({**scope, "headers": [*headers, (b"cookie", b"; ".join([cookie, *login]))]}, receive, send)

        app = dashboard(site)
        return weak

    figures = evaluated("roles", build=trusting)
    assert any(each.startswith("strangers") for each in figures["what"])
    assert figures["let_in"] > 20


@pytest.mark.long
def test_a_dashboard_that_does_not_escape_is_found_out() -> None:
    def unescaping(site: Site) -> App:
        app = dashboard(site)

        async def weak(scope: Any, receive: Any, send: Any) -> None:
            async def answer(message: Any) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [pair for pair in message["headers"] if pair[0] != b"content-length"]
                if message["type"] == "http.response.body":
                    message["body"] = unescape(message["body"].decode(errors="replace")).encode()
                await send(message)

            await app(scope, receive, answer)

        return weak

    figures = evaluated("markup", build=unescaping)
    assert figures["executed"] > 5
    assert not figures["is_clean"]


def test_a_dashboard_that_lets_files_of_networks_be_pages_of_its_own_is_found_out() -> None:
    def lax(site: Site) -> App:
        app = dashboard(site)

        async def weak(scope: Any, receive: Any, send: Any) -> None:
            async def answer(message: Any) -> None:
                if message["type"] == "http.response.start" and scope["path"].startswith("/media/"):
                    message["headers"] = [pair for pair in message["headers"] if pair[0] != b"content-security-policy"]
                await send(message)

            await app(scope, receive, answer)

        return weak

    assert evaluated("files", build=lax)["let_in"] > 10


@pytest.mark.long
def test_markup_at_the_end_of_a_page_that_comes_in_pieces_is_found_out() -> None:
    def late(site: Site) -> App:
        app = dashboard(site)

        async def weak(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] != "/machine":
                await app(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
            await send({"type": "http.response.body", "body": b"<p>first</p>", "more_body": True})
            for _ in range(50):
                await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": b"<bb-mark>"})

        return weak

    assert any("/machine" in each for each in evaluated("markup", build=late)["what"])


@pytest.mark.parametrize(
    "alive",
    [
        "<bb-mark>",
        "<p onclick=x()>",
        "<script>x()</script>",
        '<a href=" java\nscript:x()">',
        "<p style='x'>",
        "<iframe>",
        '<img src="data:text/html,x">',
    ],
)
def test_markup_that_came_to_life_is_seen(alive: str) -> None:
    assert Page(alive).alive
    assert Page(f"<p>{alive.replace('&', '&amp;').replace('<', '&lt;')}</p>").alive == []
