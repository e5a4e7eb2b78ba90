"""A user's page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from bowerbird.db.moment import one_moment
from bowerbird.ports import Database
from bowerbird.reports.blocks.selection.choosing import Choice
from bowerbird.reports.browsing.searching import Search, search
from bowerbird.reports.histories.changes import Change, read_profile_history
from bowerbird.reports.histories.find_account import Account, find_accounts
from bowerbird.reports.sheets.accounts import AccountSheet, Counters, read_account, read_counters, read_told
from bowerbird.reports.sheets.names import Names, asked_about, read_names
from bowerbird.reports.sheets.past import read_past
from bowerbird.reports.sheets.posts import BRIEF
from bowerbird.reports.sheets.ties import TieDay, ties_by_day
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.pages.data.cells import heat
from bowerbird.web.security.guard import Endpoint
from bowerbird.web.site import Site

_COUNTERS = frozenset({"followers", "following", "posts", "newest_post_at", "checked_posts"})
_POSTS = 10
_TIES = 10
_LINES = (
    ("new followers", "followers", "added"),
    ("lost followers", "followers", "removed"),
    ("newly followed", "following", "added"),
    ("unfollowed", "following", "removed"),
)


def account(site: Site) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        name = str(request.path_params["id"])
        async with one_moment(site.database) as still:
            sheet = await read_account(still, name)
            if sheet is None:
                return await _meant(still, name)
            if sheet.opts_out:
                return site.page(request, "data/opted_out.html", title=sheet.id, sheet=sheet)
            values = await _values(still, sheet)
        values["read_at"] = site.clock.now()
        return site.page(request, "data/account.html", title=_title(sheet), sheet=sheet, **values)

    return endpoint


def newest_posts(site: Site) -> Endpoint:
    """The posts of an account that were stored last, for its page, which does not wait for them."""

    async def endpoint(request: Request) -> Response:
        async with one_moment(site.database) as still:
            sheet = await _told(still, request)
            posts = await search(still, Search(what="posts", choice=Choice(users=(sheet.id,)), size=_POSTS, columns=BRIEF))
        return site.part(request, "data/newest.html", sheet=sheet, posts=posts)

    return endpoint


async def _meant(still: Database, name: str) -> Response:
    """Where a handle leads, or a key of a service."""
    async with still.reading() as tx:
        accounts = await find_accounts(still, tx, name)
    if len(accounts) == 1:
        return RedirectResponse(f"/users/{in_path(accounts[0].id)}", 303)
    if accounts:
        return RedirectResponse(f"/data/users?user={in_path(name)}", 303)
    raise NotFound(
        f"The store knows no account {name}.", "Search for it among the accounts, or add it as a seed.", code="unknown_account"
    )


async def _values(still: Database, sheet: AccountSheet) -> dict[str, Any]:
    past = await read_past(still, sheet.number, sheet.id, _TIES)
    changes, hours = past.changes, past.hours
    return {
        "changes": [each for each in reversed(changes) if each.field not in _COUNTERS and not _is_first_sight(each)],
        "counts": [each for each in changes if each.field in ("followers", "following", "posts")],
        "hours": hours,
        "heat": heat(hours),
        "ties": past.ties,
        "names": await _names(still, sheet),
    }


def _is_first_sight(change: Change) -> bool:
    """What a profile tells of a field that nothing was known of is no change of it."""
    return change.what == "profile" and change.before is None


async def _names(still: Database, sheet: AccountSheet) -> Names:
    async with still.reading() as tx:
        return await read_names(still, tx, asked_about(sheet.brought))


def _title(sheet: AccountSheet) -> str:
    handle = (sheet.profile or {}).get("handle")
    return f"@{handle}" if handle else sheet.id


def ties_plot(site: Site) -> Endpoint:
    """Who came and went, day by day."""

    async def endpoint(request: Request) -> Response:
        async with one_moment(site.database) as still:
            counted = await ties_by_day(still, (await _told(still, request)).number)
        days = counted.days
        return JSONResponse(
            {
                "kind": "bars",
                "x": "time",
                "x_label": f"day on which it was seen{', of the last changes alone' if counted.is_cut else ''}",
                "y_label": "accounts",
                "unit": "accounts",
                "xs": [_second(day) for day in days],
                "series": [
                    {"label": label, "values": [day.counts.get((side, change), 0) for day in days]}
                    for label, side, change in _LINES
                ],
                "as_of": site.clock.now().isoformat(),
            }
        )

    return endpoint


def counts_plot(site: Site) -> Endpoint:
    """The counters of a profile over time."""

    async def endpoint(request: Request) -> Response:
        async with one_moment(site.database) as still:
            counters = await read_counters(still, str(request.path_params["id"]))
            if counters is None:
                raise NotFound("The store knows no such account, or no profile of it.", code="unknown_account")
            points = _points(counters, await read_profile_history(still, counters.number, counters.id))
        return JSONResponse(
            {
                "kind": "lines",
                "x": "time",
                "x_label": "seen at",
                "y_label": "accounts",
                "unit": "accounts",
                "xs": [at.timestamp() for at, _ in points],
                "series": [
                    {"label": name, "values": [told.get(name) for _, told in points]} for name in ("followers", "following")
                ],
                "as_of": site.clock.now().isoformat(),
            }
        )

    return endpoint


def _points(counters: Counters, changes: tuple[Change, ...]) -> list[tuple[datetime, dict[str, int | None]]]:
    """Before the first change a counter was what that says, after the last it is what the profile says."""
    last = {"followers": counters.followers, "following": counters.following}
    told = [each for each in changes if each.what == "profile" and each.field in last]
    first = {name: next((each.before for each in told if each.field == name), value) for name, value in last.items()}
    points: list[tuple[datetime, dict[str, int | None]]] = [(counters.found_at, dict(first))]
    for each in told:
        first[each.field] = each.now
        points.append((each.at, dict(first)))
    return [*points, (counters.seen_at, last)]


async def _told(still: Database, request: Request) -> Account:
    account = await read_told(still, str(request.path_params["id"]))
    if account is None:
        raise NotFound("The store knows no such account.", code="unknown_account")
    return account


def _second(day: TieDay) -> float:
    return datetime(day.day.year, day.day.month, day.day.day, tzinfo=UTC).timestamp()
