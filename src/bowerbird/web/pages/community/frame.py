"""What the pages of a community share: which crawl is meant, its tabs, and who is speaking."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bowerbird.ports import Database
from bowerbird.reports.community.people import Which
from bowerbird.reports.community.wording import VALUES, judged_words, signs_of, sure_words, told_of
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.summary import CrawlReport
from bowerbird.web.errors import NotFound
from bowerbird.web.formats import in_path
from bowerbird.web.site import Site

LISTS = {
    Which.MEMBERS: ("Members", "Judged to belong, the latest first."),
    Which.UNDECIDED: ("Undecided", "The judge could not tell, the latest first."),
    Which.MENTIONED: ("Most mentioned", "Candidates that members mention most, and of whom nothing is decided."),
    Which.NEAR: (
        "Near misses",
        "Undecided after their posts or the accounts around them were read; the likeliest members first.",
    ),
    Which.BY_POSTS: ("By their posts", "Judged to belong by what they write, the latest first."),
    Which.OUTSIDE: ("Outside", "Judged not to belong, the latest first."),
    Which.MENTIONED_OUTSIDE: ("Mentioned, outside", "Judged not to belong, and yet mentioned by members, most often first."),
    Which.PERSONS: ("By people", "Decided by a person, the latest first."),
}
WORDS: dict[str, Any] = {
    "value_words": VALUES,
    "judged_words": judged_words,
    "sure_words": sure_words,
    "signs_of": signs_of,
    "told_of": told_of,
}


async def crawl_of(database: Database, request: Request) -> CrawlReport:
    """The crawl that an address names; `database` may be one moment of it, for those who read more."""
    name = request.path_params["name"]
    crawl = await Reader(database).crawl(name)
    if crawl is None:
        raise NotFound(f"there is no crawl called {name!r:.60} here", code="unknown_crawl")
    return crawl


def who(site: Site, request: Request) -> str:
    """Who speaks, for the record."""
    person = site.guard.person(request)
    return person.name if person else "user"


def shown(site: Site, request: Request, template: str, crawl: CrawlReport, tab: str, **values: Any) -> Response:
    """A page of a community, with its tabs; where nobody is judged there is nothing on the others."""
    root = f"/community/{in_path(crawl.name)}"
    entries = [("Standing", root), *((label, f"{root}/{which}") for which, (label, _) in LISTS.items())]
    entries += [("Random sample", f"{root}/sample"), ("Place names", f"{root}/names")]
    if not values.pop("is_judged", True):
        entries = entries[:1]
    tabs = [(label, path, path == f"{root}{tab}") for label, path in entries]
    title = f"Community of {crawl.name}"
    return site.page(request, f"community/{template}", title=title, tabs=tabs, crawl=crawl, root=root, **WORDS, **values)
