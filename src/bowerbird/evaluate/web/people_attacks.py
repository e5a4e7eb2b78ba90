"""Attacks by whoever is not, or is somebody else: roles, sessions, tokens, hosts and origins."""

from __future__ import annotations

import re
from datetime import timedelta

from starlette.routing import Route

from bowerbird.clock import to_micros
from bowerbird.evaluate.web.counting import Tally
from bowerbird.evaluate.web.stage import PASSWORD, Stage, Visit, cookies_of
from bowerbird.web.security import Role, sessions
from bowerbird.web.security.guard import SAFE, role_of

_OTHER_METHODS = ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT")
_HOSTS = (
    "evil.example",
    "127.0.0.1.evil.example",
    "evil.example:80",
    "localhost@evil.example",
    "",
    "127.0.0.1/../evil",
    "[::ffff:6.6.6.6]",
)
_ORIGINS = (
    "http://evil.example",
    "null",
    "https://{host}",
    "http://{host}.evil.example",
    "file://",
    "http://127.0.0.1:1",
    "http://localhost",
)
_ELSEWHERE = (
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/%0d%0aset-cookie:%20evil=1",
    "/\t/evil.example",
    "javascript:alert(1)",
    "http:evil.example",
    "/a\r\nLocation: https://evil.example",
    "/.//evil.example",
)


def filled(route: Route, with_: str = "1") -> str:
    """The address of a route, with something in the place of its parameters."""
    return re.sub(r"\{[^}]*\}", with_, route.path)


async def attack_roles(stage: Stage, tally: Tally) -> None:
    """Every address as a stranger, and every action with each role that is too low; and with methods that nobody expects."""
    for route in stage.routes:
        role, address = role_of(route.endpoint), filled(route)
        methods = route.methods or set()
        for method in sorted(methods):
            if role is not None:
                got = await stage.ask(method, address, data=None if method in SAFE else {"token": ""})
                is_in = got.status not in (303, 401) or not got.is_refused
                tally.attempt("strangers", f"{method} {address} gave {got.status}", is_in=is_in)
        for own, visit in stage.visits.items():
            if role is not None and own < role:
                for method in sorted(methods):
                    got = await stage.ask(method, address, visit=visit, data=None if method in SAFE else {"token": visit.token})
                    is_in = got.status != 403
                    tally.attempt("wrong role", f"{method} {address} as {own.word} gave {got.status}", is_in=is_in)
        for method in _OTHER_METHODS:
            got = await stage.ask(
                method, address, visit=stage.visits[Role.READ], headers={"X-Token": stage.visits[Role.READ].token}
            )
            tally.attempt(
                "other methods", f"{method} {address} gave {got.status}", is_in=not got.is_refused and got.status != 400
            )


async def attack_sessions(stage: Stage, tally: Tally) -> None:
    """Sessions that are made up, stolen from the database, expired, ended, or fixed beforehand."""
    ada = stage.visits[Role.ADMIN]
    name, value = next(iter(ada.cookies.items()))
    forged = [sessions.fresh_id() for _ in range(20)]
    forged += ["", "0", "admin", "null", "' or 1=1 --", "a" * 5_000, value[:-1], value + "A", value.swapcase(), value[::-1]]
    async with stage.site.database.reading() as tx:
        forged += [str(row["hash"]) for row in await tx.fetch("select hash from dashboard_sessions")]
    for each in forged:
        await _try_session(stage, tally, "forged session", {name: each})
    await _try_session(stage, tally, "forged session", {"bowerbird": value, "__Host-bowerbird": value, "session": value})
    ended = await stage.visit("rita")
    await stage.ask("POST", "/logout", visit=ended, data={"token": ended.token})
    await _try_session(stage, tally, "session after logout", ended.cookies)
    for column, ago in (("opened_at", sessions.LONGEST), ("seen_at", sessions.IDLE)):
        late = await stage.visit("rita")
        at = to_micros(stage.site.clock.now() - ago - timedelta(minutes=1))
        async with stage.site.database.transaction() as tx:
            await tx.execute(
                f"update dashboard_sessions set {column} = ? where hash = ?", at, sessions.hashed(late.cookies[name])
            )
        await _try_session(stage, tally, "expired session", late.cookies)
    await _fix_session(stage, tally, name)
    await _change_role(stage, tally)


async def _try_session(stage: Stage, tally: Tally, kind: str, cookies: object) -> None:
    visit = Visit(dict(cookies), "")  # type: ignore[call-overload]
    for path in ("/", "/people", "/live/overview"):
        got = await stage.ask("GET", path, visit=visit)
        tally.attempt(kind, f"{path} gave {got.status}", is_in=not got.is_refused)


async def _fix_session(stage: Stage, tally: Tally, name: str) -> None:
    """Somebody's browser is given an id before they log in: afterwards it must be another one."""
    planted = sessions.fresh_id()
    page = await stage.ask("GET", "/login", visit=Visit({name: planted}, ""))
    token = page.text.partition('name="token" value="')[2].partition('"')[0]
    visit = Visit({**cookies_of(page), name: planted}, token)
    got = await stage.ask("POST", "/login", visit=visit, data={"name": "rita", "password": PASSWORD, "token": token})
    tally.attempt("session fixation", "the id stayed", is_in=cookies_of(got).get(name) in (None, planted))
    await _try_session(stage, tally, "session fixation", {name: planted})
    flags = got.headers.get("set-cookie", "").lower()
    tally.attempt("cookie flags", flags, is_in="httponly" not in flags or "samesite=strict" not in flags)


async def _change_role(stage: Stage, tally: Tally) -> None:
    """What was open before somebody lost a role is closed by it."""
    steve, ada = await stage.visit("steve"), stage.visits[Role.ADMIN]
    for role in ("read", "steer"):
        await stage.ask("POST", "/people/role", visit=ada, data={"token": ada.token, "name": "steve", "role": role})
        await _try_session(stage, tally, "session after a change of role", steve.cookies)
    stage.visits[Role.STEER] = await stage.visit("steve")


async def attack_tokens(stage: Stage, tally: Tally) -> None:
    """Every action with a good session and no token, a wrong one, or that of somebody else."""
    ada, other = stage.visits[Role.ADMIN], stage.visits[Role.STEER]
    for route in [each for each in stage.routes if not (each.methods or set()) <= SAFE]:
        address = filled(route)
        if role_of(route.endpoint) is None:
            got = await stage.ask("POST", address, visit=ada, data={"name": "ada", "password": PASSWORD})
            tally.attempt("missing token", f"{address} gave {got.status}", is_in=got.status != 403)
            continue
        for kind, fields, headers in (
            ("missing token", {}, {}),
            ("missing token", {"token": ""}, {"X-Token": ""}),
            ("forged token", {"token": "0" * 64}, {}),
            ("forged token", {"token": other.token}, {}),
            ("forged token", {}, {"X-Token": other.token}),
            ("forged token", {"token": ada.token[:-1]}, {}),
        ):
            got = await stage.ask("POST", address, visit=ada, data={**fields, "name": "x"}, headers=headers)
            tally.attempt(kind, f"{address} gave {got.status}", is_in=got.status != 403)
        got = await stage.ask("POST", f"{address}?token={ada.token}", visit=ada, data={"name": "x"})
        tally.attempt("missing token", f"{address}?token gave {got.status}", is_in=got.status != 403)


async def attack_origins(stage: Stage, tally: Tally) -> None:
    """Every action from a page of another host, with session and token; and every page under another name."""
    ada = stage.visits[Role.ADMIN]
    acting = [route for route in stage.routes if not (route.methods or set()) <= SAFE]
    for route in acting:
        for origin in _ORIGINS:
            headers = {"Origin": origin.format(host=stage.host)}
            got = await stage.ask("POST", filled(route), visit=ada, data={"token": ada.token}, headers=headers)
            tally.attempt("foreign origin", f"{route.path} from {origin} gave {got.status}", is_in=got.status != 403)
        for site in ("cross-site", "same-site"):
            got = await stage.ask("POST", filled(route), visit=ada, data={"token": ada.token}, headers={"Sec-Fetch-Site": site})
            tally.attempt("foreign origin", f"{route.path} {site} gave {got.status}", is_in=got.status != 403)
    for route in stage.routes:
        for host in _HOSTS:
            got = await stage.ask(min(route.methods or {"GET"}), filled(route), visit=ada, headers={"Host": host})
            tally.attempt("foreign host", f"{route.path} as {host!r} gave {got.status}", is_in=got.status not in (0, 400, 421))
        for mode, to in (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "script")):
            headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": to}
            got = await stage.ask("GET", filled(route), visit=ada, headers=headers)
            tally.attempt("foreign page", f"{route.path} as {to} gave {got.status}", is_in=got.status not in (0, 403, 405))


async def attack_redirects(stage: Stage, tally: Tally) -> None:
    """Nobody is led elsewhere by an address of ours, and no address writes headers."""
    for target in _ELSEWHERE:
        got, _ = await stage.log_in("rita", PASSWORD, next=target)
        location = got.headers.get("location", "")
        is_out = not location.startswith("/") or location.startswith(("//", "/\\")) or "evil" in got.headers.get("set-cookie", "")
        tally.attempt("open redirect", f"{target!r} led to {location!r}", is_in=is_out)
    for path in ("/login?next=%0d%0aevil:%201", "/%0d%0aevil:%201", "/people?done=%0d%0aevil:%201", "/enter?key=%0d%0aevil:%201"):
        for visit in (None, stage.visits[Role.READ]):
            got = await stage.ask("GET", path, visit=visit)
            tally.attempt("header injection", path, is_in="evil" in got.headers)


async def attack_keys(stage: Stage, tally: Tally) -> None:
    """The key of the terminal, where people have passwords."""
    for key in ("", "0", stage.site.guard.entrance.spare_key):
        got = await stage.ask("GET", f"/enter?key={key}")
        tally.attempt("key of the terminal", f"gave {got.status}", is_in=not got.is_refused)
