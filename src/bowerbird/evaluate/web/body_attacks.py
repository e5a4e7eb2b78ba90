"""Attacks by what is sent: paths that climb, bodies that never end, and a thousand logins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from io import BytesIO

import aiohttp
from starlette.routing import Route

from bowerbird.evaluate.web.counting import Tally
from bowerbird.evaluate.web.marking import MARK
from bowerbird.evaluate.web.people_attacks import filled
from bowerbird.evaluate.web.stage import PASSWORD, SECRET, Got, Stage
from bowerbird.web.security import Role
from bowerbird.web.security.guard import MOST_UPLOAD, SAFE, role_of

_CLIMBS = (
    "../secret.txt", "..%2fsecret.txt", "..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd", "%2e%2e%2fsecret.txt", "..%5csecret.txt",
    "....//secret.txt", "..%252fsecret.txt", "%2fetc%2fpasswd", "/etc/passwd", "..%00/secret.txt", "style.css%00.html",
    "..;/secret.txt", "%c0%ae%c0%ae%2fsecret.txt", "../../../../../../../../etc/passwd", "..%2fsite.py",
    "..%2ftemplates%2flayout.html", ".%2e/security/guard.py", "marked.db", "..%2fmarked.db",
)  # fmt: skip
_LEAKED = (SECRET.encode(), b"root:x:0:0", b"from __future__", b"SQLite format 3", b"{% block")
_MEGABYTE = 1024 * 1024
_AT_ONCE = 100
_NEVER = 60.0
"""Seconds that a page counts for which did not come."""


async def attack_paths(stage: Stage, tally: Tally) -> None:
    """Files outside of the assets, by every address that takes a name."""
    ada = stage.visits[Role.ADMIN]
    taking = [route for route in stage.routes if "{" in route.path and "GET" in (route.methods or ())]
    for climb in _CLIMBS:
        for path in [*(filled(route, climb) for route in taking), f"/{climb}", f"/assets/{climb}", f"/assets/foreign/{climb}"]:
            got = await stage.ask("GET", path, visit=ada)
            is_in = any(each in got.body for each in _LEAKED)
            tally.attempt("path traversal", f"{path} gave {got.status}", is_in=is_in)


async def attack_bodies(stage: Stage, tally: Tally) -> None:
    """Bodies, forms, uploads, headers and addresses that are too large, with a good session and token, said and unsaid."""
    ada = stage.visits[Role.ADMIN]
    token = {"X-Token": ada.token}
    large = b"name=" + b"a" * (2 * _MEGABYTE)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for route in _acting(stage):
        address = filled(route)
        sent: dict[str, tuple[object, dict[str, str]]] = {
            "a form of 2 MiB": (BytesIO(large), form),
            "a form of 2 MiB in pieces": (_pieces(large), form),
            "100,000 fields": (BytesIO(b"&".join(b"a%d=1" % number for number in range(100_000))), form),
            "40 MiB in pieces": (_endless(40), {"Content-Type": "multipart/form-data; boundary=x"}),
            "a file of 20 MiB": (_upload(MOST_UPLOAD + 4 * _MEGABYTE), {}),
        }
        for words, (data, headers) in sent.items():
            got = await stage.ask("POST", address, visit=ada, data=data, headers={**token, **headers})
            tally.attempt("oversized body", f"{address}: {words} gave {got.status}", is_in=_is_taken(got))
    for headers, path in (({"X-Long": "a" * 200_000}, "/"), ({}, "/?q=" + "a" * 20_000), ({}, "/data/" + "a" * 20_000)):
        got = await stage.ask("GET", path, visit=ada, headers=headers)
        tally.attempt("oversized address", f"gave {got.status}", is_in=not got.is_refused and got.status != 400)


async def attack_logins(stage: Stage, tally: Tally, count: int) -> None:
    """A dictionary that has the right password, after more tries than are allowed; meanwhile others are to be served."""
    clock, waits = stage.site.clock, list[float]()

    async def one(number: int) -> Got:
        password = PASSWORD if number >= count // 2 and number % 50 == 0 else f"wrong {number}"
        got, _ = await stage.log_in(("ada", "steve", "nobody")[number % 3], password)
        return got

    async def ask_for_a_page() -> float:
        began = clock.stopwatch()
        got = await stage.ask("GET", "/help", visit=stage.visits[Role.READ])
        return clock.stopwatch() - began if got.status == 200 else _NEVER

    async def beside() -> None:
        while True:
            waits.append(await ask_for_a_page())

    alone = sorted([await ask_for_a_page() for _ in range(20)])
    watching = asyncio.create_task(beside())
    began, compared = clock.stopwatch(), 0
    for first in range(0, count, _AT_ONCE):
        for got in await asyncio.gather(*(one(number) for number in range(first, min(count, first + _AT_ONCE)))):
            tally.attempt("wrong logins", f"gave {got.status}", is_in=got.status not in (401, 429, 503))
            compared += got.status == 401
    watching.cancel()
    tally.measured["passwords_compared"] = compared
    tally.measured["logins_a_second"] = round(count / max(0.001, clock.stopwatch() - began))
    if waits:
        tally.measured["page_beside_logins"] = round(sorted(waits)[len(waits) // 2] / alone[len(alone) // 2], 1)


async def attack_live(stage: Stage, tally: Tally) -> None:
    """What is pushed live, without a session; and it ends with the session."""
    for topic in ("overview", "crawl", "work", "machine", "nothing", f"<{MARK}>"):
        got = await stage.ask("GET", f"/live/{topic}", headers={"Accept": "text/event-stream"})
        tally.attempt("live without session", f"{topic} gave {got.status}", is_in=not got.is_refused)
    visit = await stage.visit("rita")
    name = next(iter(visit.cookies))
    headers = {"Cookie": f"{name}={visit.cookies[name]}", "Accept": "text/event-stream"}
    async with aiohttp.ClientSession() as session, session.get(f"{stage.base}/live/overview", headers=headers) as answer:
        await stage.ask("POST", "/logout", visit=visit, data={"token": visit.token})
        try:
            async with asyncio.timeout(40):
                while not answer.content.at_eof():
                    await answer.content.readany()
            is_in = False
        except TimeoutError:
            is_in = True
    tally.attempt("live after logout", "goes on", is_in=is_in)


async def attack_caches(stage: Stage, tally: Tally) -> None:
    """Nothing that needs a session may be kept by a browser or a proxy, or lack what browsers are to refuse."""
    for route in [each for each in stage.routes if "GET" in (each.methods or ()) and "{" not in each.path]:
        got = await stage.ask("GET", route.path, visit=stage.visits[Role.ADMIN])
        kept = got.headers.get("cache-control", "")
        is_in = role_of(route.endpoint) is not None and "no-store" not in kept
        tally.attempt("cache", f"{route.path}: {kept}", is_in=is_in)
        sniffed = got.headers.get("x-content-type-options", "")
        tally.attempt("kind of an answer guessed", f"{route.path}: {sniffed}", is_in=sniffed != "nosniff")
        policy = got.headers.get("content-security-policy", "")
        is_weak = "default-src 'none'" not in policy or ("unsafe" not in policy and "frame-ancestors 'none'" not in policy)
        tally.attempt("content policy", f"{route.path}: {policy}", is_in=is_weak or "unsafe" in policy)


def _acting(stage: Stage) -> list[Route]:
    return [route for route in stage.routes if not (route.methods or set()) <= SAFE]


def _is_taken(got: Got) -> bool:
    return not got.is_refused and got.status != 400


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(body), 65_536):
        yield body[begin : begin + 65_536]


async def _endless(megabytes: int) -> AsyncIterator[bytes]:
    yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    for _ in range(megabytes * 16):
        yield b"a" * 65_536


def _upload(size: int) -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("file", BytesIO(b"a" * size), filename="a.csv")
    return form
