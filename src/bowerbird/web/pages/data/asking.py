"""What the address of a page asks for: conditions, order and columns; and the command line that means the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from msgspec import Struct
from starlette.datastructures import QueryParams

from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.model.command_lines import command_line
from bowerbird.model.items import Judged
from bowerbird.reports.blocks.moments import end_moment, moment
from bowerbird.reports.blocks.selection.choosing import Choice, at_least
from bowerbird.reports.browsing.searching import Search, orders_of

Fields = Mapping[str, str]
SIZES = (25, 50, 100, 250)
_DEFAULT_SIZE = 50
CONDITIONS = (
    "q", "user", "followed", "network", "lang", "kind", "crawl", "place", "judged", "media", "counter", "least", "since", "until",
)  # fmt: skip
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "posts": ("author_handle", "text", "created_at", "likes", "reposts", "replies", "language", "network"),
    "users": ("handle", "name", "description", "followers", "following", "posts", "seen_at", "network"),
    "follows": ("source_handle", "target_handle", "found_at", "seen_at", "network"),
    "media": ("id", "kind", "description", "author_handle", "created_at", "state", "bytes"),
}


class Asked(Struct, frozen=True, kw_only=True):
    """One search as it stands in an address."""

    what: str
    fields: Fields
    """What was filled in, by name of the field."""
    columns: tuple[str, ...]
    order: str = "newest"
    after: str | None = None
    before: str | None = None
    size: int = _DEFAULT_SIZE

    @property
    def search(self) -> Search:
        """Raises `UserError` for what cannot be understood."""
        return Search(what=self.what, choice=self.choice, order=self.order, after=self.after, before=self.before, size=self.size)

    @property
    def choice(self) -> Choice:
        told = self.fields.get
        counter, least = told("counter", ""), told("least", "")
        return Choice(
            words=_several(told("q", "")),
            users=_several(told("user", "")),
            followed=_several(told("followed", "")),
            networks=_several(told("network", "")),
            languages=_several(told("lang", "")),
            kinds=_several(told("kind", "")),
            crawls=_several(told("crawl", "")),
            places=_several(told("place", "")),
            judged=tuple(_judged(each) for each in _several(told("judged", ""))),
            has_media=bool(told("media", "")),
            at_least=(at_least(f"{counter}={least}"),) if counter and least else (),
            since=moment(since) if (since := told("since")) else None,
            until=end_moment(until) if (until := told("until")) else None,
        )

    @property
    def is_narrowed(self) -> bool:
        return any(name != "counter" for name in self.fields)

    def query(self, **changes: str | None) -> str:
        """The same search in an address, with some of it changed; without the place of a page."""
        told: dict[str, str | None] = {**self.fields}
        if self.order != "newest":
            told["sort"] = self.order
        if self.size != _DEFAULT_SIZE:
            told["size"] = str(self.size)
        if self.columns != _SHOWN[self.what]:
            told["columns"] = ",".join(self.columns)
        told |= changes
        return urlencode({name: value for name, value in told.items() if value})

    def command(self, store: str) -> str:
        """The command line that writes the same rows."""
        options: list[str] = []
        for name, option in _OPTIONS.items():
            for value in _several(self.fields.get(name, "")):
                options += [option, value]
        if self.fields.get("media"):
            options.append("--with-media")
        if self.fields.get("counter") and self.fields.get("least"):
            options += ["--least", f"{self.fields['counter']}={self.fields['least']}"]
        for name in ("since", "until"):
            if self.fields.get(name):
                options += [f"--{name}", self.fields[name]]
        return command_line("export", self.what, store, *options, "-o", f"{self.what}.csv")


_OPTIONS = {
    "q": "--word",
    "user": "--user",
    "followed": "--followed",
    "network": "--network",
    "lang": "--lang",
    "kind": "--kind",
    "crawl": "--crawl",
    "place": "--place",
    "judged": "--judged",
}


def asked(what: str, given: QueryParams) -> Asked:
    """What an address asks for; unknown fields are nothing."""
    fields = {name: given[name].strip() for name in CONDITIONS if given.get(name, "").strip()}
    size = given.get("size", "")
    order = given.get("sort") or "newest"
    return Asked(
        what=what,
        fields=fields,
        columns=_columns(what, given.getlist("columns")),
        order=order if what == "follows" or order in orders_of(what) else "newest",
        after=given.get("after") or None,
        before=given.get("before") or None,
        size=next((each for each in SIZES if str(each) == size), _DEFAULT_SIZE),
    )


def all_columns(what: str) -> tuple[str, ...]:
    return SHAPES[what].names


def _columns(what: str, given: Sequence[str]) -> tuple[str, ...]:
    wanted = {name for each in given for name in each.split(",")}
    chosen = tuple(name for name in (*_SHOWN[what], *all_columns(what)) if name in wanted)
    return tuple(dict.fromkeys(chosen)) or _SHOWN[what]


def _several(written: str) -> tuple[str, ...]:
    """Parts between commas."""
    return tuple(_unique(part.strip() for part in written.split(",") if part.strip()))


def _unique(parts: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(parts)


def _judged(written: str) -> Judged:
    judge, _, value = written.partition("=")
    return Judged(judge.strip(), value.strip() or None)
