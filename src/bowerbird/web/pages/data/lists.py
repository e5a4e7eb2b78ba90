"""Accounts, posts, relations and media as tables to look through."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from msgspec import structs
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bowerbird.db.moment import one_moment
from bowerbird.errors import UserError
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.export.rows.shapes import Kind
from bowerbird.model import NETWORKS, PostKind, post_at
from bowerbird.ports import Database
from bowerbird.reports.blocks.tables import TABLES
from bowerbird.reports.browsing.choices import read_choices
from bowerbird.reports.browsing.follows import search_follows
from bowerbird.reports.browsing.matching import how_many
from bowerbird.reports.browsing.searching import Found, Matching, orders_of, search
from bowerbird.reports.histories.find_account import find_accounts
from bowerbird.reports.sheets.originals import read_originals
from bowerbird.reports.sheets.posts import read_post
from bowerbird.web.answers.kept import Kept
from bowerbird.web.formats import in_path
from bowerbird.web.pages.data.asking import CONDITIONS, SIZES, Asked, all_columns, asked
from bowerbird.web.pages.data.cells import needed, table_rows
from bowerbird.web.pages.data.downloads import most_of
from bowerbird.web.security.guard import Endpoint
from bowerbird.web.site import Site

TITLES = {"posts": "Posts", "users": "Accounts", "follows": "Relations", "media": "Media"}
ADDRESSES = {"posts": "/data/posts", "users": "/data/users", "follows": "/data/relations", "media": "/data/media"}
KINDS = {"posts": tuple(str(kind) for kind in PostKind), "media": ("photo", "image", "video", "gifv", "animated_gif", "audio")}
_COUNT_LASTS = timedelta(minutes=1)
HEADINGS = {
    "author_handle": "author", "source_handle": "who follows", "target_handle": "whom", "created_at": "written",
    "found_at": "found", "seen_at": "last seen", "author_id": "author's id", "is_sensitive": "sensitive",
}  # fmt: skip


def listing(site: Site, what: str) -> Endpoint:
    """The page of one kind of rows."""

    async def endpoint(request: Request) -> Response:
        wanted = asked(what, request.query_params)
        async with one_moment(site.database) as still:
            try:
                found, problem = await _found(still, wanted), None
            except UserError as error:
                found, problem = Found(rows=()), error.failure
            choices = await read_choices(still)
        values = _values(site, wanted, found) | {"problem": problem, "saved": choices.saved, "crawls": choices.crawls}
        return site.page(request, "data/list.html", title=TITLES[what], status=400 if problem else 200, **values)

    return endpoint


def counting(site: Site, what: str) -> Endpoint:
    """How many rows a search finds, for its page, which does not wait for it."""

    async def count(query: str) -> Matching:
        return await how_many(site.database, asked(what, QueryParams(query)).search)

    counts: Kept[Matching] = Kept(site.clock, _COUNT_LASTS, count)

    async def endpoint(request: Request) -> Response:
        wanted = asked(what, request.query_params)
        # Neither order nor columns nor the place of a page change how many there are.
        found = await counts.at_once(urlencode(sorted(wanted.fields.items())))
        return site.part(
            request, "data/count.html", found=found.value, at=found.at, what=TITLES[what].lower(), is_narrowed=wanted.is_narrowed
        )

    return endpoint


async def _found(still: Database, wanted: Asked) -> Found:
    asked_for = structs.replace(wanted.search, columns=needed(wanted.what, wanted.columns))
    found = await (search_follows if wanted.what == "follows" else search)(still, asked_for)
    if wanted.what != "posts" or "text" not in wanted.columns:
        return found
    passed = {row["repost_of"] for row in found.rows if row["text"] is None and row["repost_of"]}
    originals = await read_originals(still, passed)
    return structs.replace(found, rows=tuple({**row, "original": originals.get(row["repost_of"])} for row in found.rows))


def _values(site: Site, wanted: Asked, found: Found) -> dict[str, Any]:
    """What the template of lists needs."""
    address, what = ADDRESSES[wanted.what], wanted.what
    kinds = {column.name: str(column.kind) for column in SHAPES[what].columns}
    following = f"{address}?{wanted.query(after=found.after)}" if found.after else None
    previous = f"{address}?{wanted.query(before=found.before)}" if found.before else None
    return {
        "asked": wanted,
        "told": {name: wanted.fields.get(name, "") for name in CONDITIONS},
        "found": found,
        "rows": table_rows(what, found.rows, wanted.columns, kinds),
        "what": what,
        "address": address,
        "numeric": {name for name, kind in kinds.items() if kind in (Kind.NUMBER, Kind.REAL)},
        "headings": HEADINGS,
        "next": following,
        "previous": previous,
        "on": previous if wanted.before else following,
        "first": f"{address}?{wanted.query()}" if wanted.after or wanted.before else None,
        "orders": () if what == "follows" else orders_of(what),
        "counters": TABLES[what].counters,
        "post_kinds": KINDS.get(what, ()),
        "networks": sorted(NETWORKS),
        "boxes": _boxes(what, wanted.columns),
        "sizes": SIZES,
        "most": most_of(wanted),
        "command": wanted.command(site.name),
        "read_at": site.clock.now(),
        "tabs": [(title, ADDRESSES[each], each == what) for each, title in TITLES.items()] + [("Saved", "/data/saved", False)],
    }


@lru_cache(100)
def _boxes(what: str, columns: tuple[str, ...]) -> Markup:
    """One for each column, ticked where it is shown: nearly always the same, and a good part of a page to write anew."""
    box = Markup('<label class="check"><input type="checkbox" name="columns" value="{}"{}> {}</label>')
    ticked = Markup(" checked")
    told = [
        box.format(name, ticked if name in columns else "", HEADINGS.get(name, name.replace("_", " ")))
        for name in all_columns(what)
    ]
    return Markup("").join(told)


def finding(site: Site) -> Endpoint:
    """Leads from a handle, an id or an address to what it means; to a search for it where it means nothing."""

    async def endpoint(request: Request) -> Response:
        text = request.query_params.get("q", "").strip()
        if not text:
            return RedirectResponse("/data/posts", 303)
        name = post_at(text) or text
        async with one_moment(site.database) as still, still.reading() as tx:
            accounts = await find_accounts(still, tx, text)
            is_post = not accounts and await read_post(still, name) is not None
        if len(accounts) == 1:
            return RedirectResponse(f"/users/{in_path(accounts[0].id)}", 303)
        if accounts:
            return RedirectResponse(f"/data/users?user={in_path(text)}", 303)
        if is_post:
            return RedirectResponse(f"/posts/{in_path(name)}", 303)
        return RedirectResponse(f"/data/posts?q={in_path(text)}", 303)

    return endpoint
