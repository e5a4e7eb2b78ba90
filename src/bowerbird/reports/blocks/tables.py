"""Which stored rows there are to read by columns, in SQL: their order, what belongs to them, and how they can be chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct, structs

from bowerbird.errors import UserError
from bowerbird.model import NETWORKS
from bowerbird.model.subjects.telling import is_gone, may_be_told, open_absence
from bowerbird.ports import Database
from bowerbird.reports.blocks.fetching import Kinds
from bowerbird.reports.blocks.fills import Documents, Fill, Names, Parts, Places, Services, people
from bowerbird.store.absences.purge import has_content

_JUDGED = "exists (select 1 from judgements j where j.subject = '{subject}' and j.id = {id} and {said})"
_AUTHOR = "(select id from users where user_no = {number})"
_BURIED = "(select d.reason from deletions d where d.subject = '{subject}' and d.id = {id})"
_OF_POSTS = {
    "deleted_at": "p.deleted_at",
    "deleted_why": f"case when p.deleted_at is not null then coalesce({_BURIED.format(subject='post', id='p.id')}, "
    f"{_BURIED.format(subject='user', id=_AUTHOR.format(number='p.author'))}) end",
}


class Table(Struct, frozen=True, kw_only=True):
    """One kind of rows."""

    name: str
    keys: tuple[str, ...]
    """What orders the rows, each row by another key."""
    tables: str
    columns: Mapping[str, str]
    """By name, in SQL."""
    where: str
    choices: Mapping[str, str]
    """How rows are chosen, in SQL: `since` and `until` with one `?`, `media` as a condition, the others as a column: `language`,
    `user`, `followed`, `found` (when a row was new), `network`, `kind`, `call` (that brought it)."""
    judged: tuple[tuple[str, str], ...] = ()
    """Kinds of subjects that judgements may be about, with the id in SQL."""
    words: tuple[str, ...] = ()
    """The columns in which words are looked for."""
    counters: tuple[str, ...] = ()
    """The columns that count something, by which rows can be chosen and sorted."""
    kept: str | None = None
    """The condition instead of `where` that lets in what was deleted and kept as well."""
    gone: Mapping[str, str] = {}
    """The columns that tell then which rows these are."""
    numbers: frozenset[str] = frozenset()
    """Which columns and keys are whole numbers, by name or as keys are written; all others are texts."""
    reals: frozenset[str] = frozenset()

    def with_deleted(self) -> Table:
        if self.kept is None:
            raise UserError(f"nothing deleted is kept of {self.name}", "leave --deleted out", code="unsupported")
        return structs.replace(self, where=self.kept, columns={**self.columns, **self.gone})

    def kinds(self) -> Kinds:
        """Of the keys, then of the columns."""
        return tuple(
            "number" if name in self.numbers else "real" if name in self.reals else "text" for name in (*self.keys, *self.columns)
        )

    def narrowed(self, columns: Collection[str]) -> Table:
        """The same rows with these of its columns alone."""
        return structs.replace(self, columns={name: sql for name, sql in self.columns.items() if name in columns})

    def chosen_by(self, what: str) -> str:
        if what not in self.choices:
            raise UserError(
                f"{self.name} cannot be chosen by {what}", "leave that out, or choose among the posts", code="unsupported"
            )
        return self.choices[what]

    def counted_by(self, counter: str) -> str:
        """A counter in SQL."""
        if counter not in self.counters:
            told = f"there are: {', '.join(self.counters)}" if self.counters else "they have none"
            raise UserError(f"{self.name} have no counter {counter!r}", told, code="unknown_name")
        return self.columns[counter]

    def is_judged(self, said: str) -> str:
        """The condition that one of a row's subjects is said to be something."""
        if not self.judged:
            raise UserError(f"nothing is judged of {self.name}", "leave --place and --judged out", code="unsupported")
        return "(" + " or ".join(_JUDGED.format(subject=subject, id=id_, said=said) for subject, id_ in self.judged) + ")"


def _names(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


_POST_CHOICES = {
    "since": "p.created_at >= ?",
    "until": "p.created_at < ?",
    "language": "p.language",
    "user": "p.author",
    "found": "p.found_at",
    "network": "p.network",
    "kind": "p.kind",
    "call": "p.found_by",
    "media": "exists (select 1 from media x where x.post_no = p.post_no)",
}
"""How rows are chosen that are posts, or belong to one."""
_POST_AND_AUTHOR = (("post", "p.id"), ("user", _AUTHOR.format(number="p.author")))


def _made_addresses() -> Iterator[str]:
    """Where posts are found whose addresses follow from their ids, and so are not kept."""
    for network in NETWORKS.values():
        if network.post_forms is not None:
            (begins, middle), (shown, between) = (form.replace("{key}", "").split("{author}") for form in network.post_forms)
            yield (
                f"case when p.network = '{network.name}' and p.kind <> 'repost' and p.text is not null "
                f"then '{shown}' || replace(substr(p.id, {len(begins) + 1}), '{middle}', '{between}') end"
            )


_POST_URL = f"coalesce({', '.join(('p.url', *_made_addresses()))})"
_POST_COLUMNS = (
    "id", "network", "kind", "author", "created_at", "listed_at", "edited_at", "text", "language", "replies", "reposts", "likes",
    "quotes", "reply_to", "repost_of", "quote_of", "root", "links", "source", "warning", "is_sensitive", "labels", "place",
    "poll", "emoji", "found_at", "found_by", "seen_at",
)  # fmt: skip
_USER_COLUMNS = (
    "id", "network", "handle", "name", "description", "location", "url", "language", "gender", "time_zone", "avatar",
    "created_at", "followers", "following", "posts", "newest_post_at", "is_protected", "is_bot", "is_verified", "labels",
    "found_at", "found_by", "seen_at",
)  # fmt: skip
_CALL_COLUMNS = (
    "call", "facet", "state", "outcome", "status", "targets", "objects", "results", "new_items", "bytes", "credential",
    "leased_at", "sent_at", "received_at", "settled_at", "detail",
)  # fmt: skip

POSTS = Table(
    name="posts",
    keys=("p.post_no",),
    tables="posts p",
    columns={"number": "p.post_no", **{name: f"p.{name}" for name in _POST_COLUMNS}, "url": _POST_URL},
    where="p.deleted_at is null",
    choices=_POST_CHOICES,
    judged=_POST_AND_AUTHOR,
    words=("text",),
    counters=("likes", "reposts", "replies", "quotes"),
    kept=has_content("p."),
    gone=_OF_POSTS,
    numbers=_names(
        "p.post_no number author created_at listed_at edited_at replies reposts likes quotes is_sensitive",
        "found_at found_by seen_at deleted_at",
    ),
)
USERS = Table(
    name="users",
    keys=("u.user_no",),
    tables="users u",
    columns={"number": "u.user_no", **{name: f"u.{name}" for name in _USER_COLUMNS}},
    where=f"u.seen_at is not null and {may_be_told('u')}",
    choices={
        "since": "u.found_at >= ?",
        "until": "u.found_at < ?",
        "language": "u.language",
        "user": "u.user_no",
        "found": "u.seen_at",
        "network": "u.network",
        "call": "u.found_by",
    },
    judged=(("user", "u.id"),),
    words=("handle", "name", "description"),
    counters=("followers", "following", "posts"),
    kept=f"u.seen_at is not null and coalesce(u.opts_out, 0) = 0 and (u.handle is not null or not {is_gone('u')})",
    gone={
        "deleted_at": f"(select max(a.since) {open_absence('u')})",
        "deleted_why": f"(select max(a.reason) {open_absence('u')})",
    },
    numbers=_names(
        "u.user_no number created_at followers following posts newest_post_at is_protected is_bot is_verified",
        "found_at found_by seen_at deleted_at",
    ),
)
FOLLOWS = Table(
    name="follows",
    keys=("r.source", "r.target"),
    tables="relations r",
    columns={name: f"r.{name}" for name in ("source", "target", "found_at", "found_by", "seen_at")},
    where="r.kind = 'follow' and r.removed_at is null",
    choices={
        "since": "r.found_at >= ?",
        "until": "r.found_at < ?",
        "user": "r.source",
        "followed": "r.target",
        "found": "r.found_at",
        "network": "(select network from users where user_no = r.source)",
        "call": "r.found_by",
    },
    judged=(("user", _AUTHOR.format(number="r.source")),),
    numbers=_names("r.source r.target source target found_at found_by seen_at"),
)
REACTIONS = Table(
    name="reactions",
    keys=("x.post_no", "x.kind", "x.user_no"),
    tables="reactions x join posts p on p.post_no = x.post_no",
    columns={
        "post_id": "p.id",
        "network": "p.network",
        **{name: f"x.{name}" for name in ("kind", "user_no", "at", "found_at", "found_by", "seen_at")},
    },
    where="x.gone_at is null and p.deleted_at is null",
    choices={
        "since": "coalesce(x.at, x.found_at) >= ?",
        "until": "coalesce(x.at, x.found_at) < ?",
        "user": "x.user_no",
        "found": "x.found_at",
    },
    judged=(("post", "p.id"), ("user", _AUTHOR.format(number="x.user_no"))),
    numbers=_names("x.post_no x.user_no user_no at found_at found_by seen_at"),
)
MEDIA = Table(
    name="media",
    keys=("m.media_no",),
    tables="media m join posts p on p.post_no = m.post_no left join media_files f on f.id = m.id",
    columns={
        "id": "m.id",
        "post_id": "p.id",
        "network": "p.network",
        "author": "p.author",
        "created_at": "p.created_at",
        **{name: f"m.{name}" for name in ("kind", "url", "description")},
        **{name: f"f.{name}" for name in ("state", "path", "type", "bytes", "sha256")},
    },
    where="p.deleted_at is null",
    choices={**_POST_CHOICES, "kind": "m.kind"},
    judged=_POST_AND_AUTHOR,
    words=("description",),
    numbers=_names("m.media_no author created_at bytes deleted_at"),
)
JUDGEMENTS = Table(
    name="judgements",
    keys=("j.judge", "j.subject", "j.id", "j.value"),
    tables="judgements j left join users u on j.subject = 'user' and u.id = j.id",
    columns={
        "handle": "u.handle",
        **{
            name: f"j.{name}"
            for name in ("judge", "version", "subject", "id", "value", "reason", "confidence", "evidence", "decided_by", "at")
        },
    },
    where="coalesce(u.opts_out, 0) = 0",
    choices={"since": "j.at >= ?", "until": "j.at < ?", "user": "u.user_no", "found": "j.at"},
    numbers=_names("at"),
    reals=_names("confidence"),
)
CALLS = Table(
    name="calls",
    keys=("c.call",),
    tables="calls c join crawls w on w.crawl = c.crawl left join lanes l on l.lane = c.lane "
    "left join services s on s.service = l.service",
    columns={"crawl": "w.name", "service": "s.name", **{name: f"c.{name}" for name in _CALL_COLUMNS}},
    where="1 = 1",
    choices={"since": "c.leased_at >= ?", "until": "c.leased_at < ?", "found": "c.leased_at"},
    numbers=_names("c.call call status objects results new_items bytes leased_at sent_at received_at settled_at"),
)
KEYWORDS = Table(
    name="keywords",
    keys=("k.keyword",),
    tables="keywords k join keyword_methods m on m.method = k.method join crawls w on w.crawl = k.crawl",
    columns={
        "crawl": "w.name",
        "method": "m.name",
        **{name: f"k.{name}" for name in ("term", "since", "why", "numbers", "until", "until_why", "until_numbers")},
    },
    where="1 = 1",
    choices={"since": "k.since >= ?", "until": "k.since < ?", "found": "k.since"},
    numbers=_names("k.keyword since until"),
)
_CANDIDATE_COUNTS = (
    "mentions", "replies", "reposts", "listed", "votes_at", "followed_by_yes", "followed_by_no", "follows_yes", "follows_no",
    "mentioned_by_yes", "mentioned_by_no",
)  # fmt: skip
CANDIDATES = Table(
    name="candidates",
    keys=("c.crawl", "c.user_no"),
    tables="candidates c join users u on u.user_no = c.user_no join crawls w on w.crawl = c.crawl",
    columns={
        "crawl": "w.name",
        "id": "u.id",
        "handle": "u.handle",
        **{name: f"c.{name}" for name in ("source", "state", "reason", "found_at", *_CANDIDATE_COUNTS)},
    },
    where=may_be_told("u"),
    choices={"since": "c.found_at >= ?", "until": "c.found_at < ?", "user": "c.user_no", "found": "c.found_at"},
    judged=(("user", "u.id"),),
    numbers=_names("c.crawl c.user_no found_at", *_CANDIDATE_COUNTS),
)
LABELS = Table(
    name="labels",
    keys=("l.crawl", "l.judge", "l.user_no", "l.who"),
    tables="labels l join users u on u.user_no = l.user_no join crawls w on w.crawl = l.crawl "
    "join label_samples s on s.crawl = l.crawl and s.judge = l.judge and s.user_no = l.user_no",
    columns={
        "crawl": "w.name",
        "judge": "l.judge",
        "said": "s.said",
        "id": "u.id",
        "handle": "u.handle",
        **{name: f"l.{name}" for name in ("who", "label", "at")},
    },
    where=may_be_told("u"),
    choices={"since": "l.at >= ?", "until": "l.at < ?", "user": "l.user_no", "found": "l.at"},
    numbers=_names("l.crawl l.user_no at"),
)
MODULE_RUNS = Table(
    name="module_runs",
    keys=("r.run",),
    tables="module_runs r join crawls w on w.crawl = r.crawl",
    columns={
        "crawl": "w.name",
        **{name: f"r.{name}" for name in ("run", "module", "is_by_hand", "started_at", "ended_at", "counts", "error")},
    },
    where="1 = 1",
    choices={"since": "r.started_at >= ?", "until": "r.started_at < ?", "found": "r.started_at"},
    numbers=_names("r.run run is_by_hand started_at ended_at"),
)
GROWTH = Table(
    name="growth",
    keys=("g.name", "g.at"),
    tables="growth g",
    columns={name: f"g.{name}" for name in ("name", "at", "rows", "is_exact")},
    where="1 = 1",
    choices={"since": "g.at >= ?", "until": "g.at < ?", "found": "g.at"},
    numbers=_names("g.at at rows is_exact"),
)
TABLES = {
    each.name: each
    for each in (
        *(POSTS, USERS, FOLLOWS, REACTIONS, MEDIA, JUDGEMENTS, CALLS, KEYWORDS),
        *(CANDIDATES, LABELS, MODULE_RUNS, GROWTH),
    )
}

_PARTS = {
    "tags": "select post_no, tag as told from post_tags where post_no {which} order by post_no, tag",
    "cashtags": "select post_no, cashtag as told from post_cashtags where post_no {which} order by post_no, cashtag",
    "mentions": "select m.post_no, u.id as told from post_mentions m join users u on u.user_no = m.user_no "
    "where m.post_no {which} order by m.post_no, u.id",
    "media": "select post_no, url as told from media where post_no {which} order by post_no, place",
}


def fills(table: Table, database: Database) -> list[Fill]:
    """What is looked up besides the columns of a table."""
    known, service = people(database, with_gone="deleted_why" in table.columns), Services(database, "found_by")
    steps: dict[str, list[Fill]] = {
        "posts": [
            Names(known, "author", "author_id", "author_handle"),
            service,
            *(Parts(database, into, sql) for into, sql in _PARTS.items()),
            Documents("links"),
            Documents("labels"),
            Places(),
        ],
        "users": [service, Documents("labels")],
        "follows": [
            Names(known, "source", "source_id", "source_handle", "network"),
            Names(known, "target", "target_id", "target_handle"),
            service,
        ],
        "reactions": [Names(known, "user_no", "user_id", "user_handle"), service],
        "media": [Names(known, "author", "author_id", "author_handle")],
    }
    return steps.get(table.name, [])
