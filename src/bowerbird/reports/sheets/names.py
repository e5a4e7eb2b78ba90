"""What calls and tasks are about, by names that people know: whoever opted out, is gone or was never seen keeps the bare id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from bowerbird.model import Subject
from bowerbird.model.subjects.telling import may_be_told
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.sheets.parts import Brought
from bowerbird.reports.subjects import subject_of
from bowerbird.store.posts.by_id import with_ids

Asked = tuple[str, Subject, str]
"""The name of a service, what its target is, and the target; an empty service for ids that hold everywhere."""
_SHOWN = f"{may_be_told('u')} and coalesce(u.handle, u.name) is not null"
_SERVICES = "select name, network from services"
_USERS_BY_KEY = f"""
select k.key, u.id, u.handle, u.name from user_keys k join users u on u.user_no = k.user_no
where k.service = (select service from services where name = ?) and k.key {{several}} and {_SHOWN}
"""
_USERS_BY_ID = f"select u.id as key, u.id, u.handle, u.name from users u where u.id {{several}} and {_SHOWN}"
_POSTS_BY_KEY = f"""
select k.key, p.id, u.handle, u.name from post_keys k join posts p on p.post_no = k.post_no join users u on u.user_no = p.author
where k.service = (select service from services where name = ?) and k.key {{several}} and p.deleted_at is null and {_SHOWN}
"""
_POSTS_BY_ID = f"""
select posts.id as key, posts.id, u.handle, u.name from posts join users u on u.user_no = posts.author
where {{several}} and posts.deleted_at is null and {_SHOWN}
"""
_BY_KEY = {Subject.USER: _USERS_BY_KEY, Subject.POST: _POSTS_BY_KEY}


class Named(Struct, frozen=True):
    """An account or a post that may be told of."""

    id: str
    label: str
    is_post: bool = False

    @property
    def area(self) -> str:
        return "posts" if self.is_post else "users"


Names = Mapping[Asked, Named]


def asked_about(brought: Brought | None) -> list[Asked]:
    """What the call that brought something asked about."""
    return [] if brought is None else asked_by(brought.service or "", brought.facet, brought.targets)


def asked_by(service: str, facet: str, targets: str) -> list[Asked]:
    """What a call asked about."""
    return [(service, subject_of(facet), part) for part in targets.split(",")]


async def read_names(database: Database, tx: Transaction, asked: Iterable[Asked]) -> Names:
    """Those that have a name; all others, and words, are left out."""
    wanted = {each for each in asked if each[1] in _BY_KEY}
    if not wanted:
        return {}
    services, found = await _by_keys(database, tx, wanted)
    by_id: defaultdict[tuple[Subject, str], list[Asked]] = defaultdict(list)
    for service, subject, target in wanted - found.keys():
        by_id[subject, target].append((service, subject, target))
        if service in services:
            by_id[subject, f"{services[service]}:{target}"].append((service, subject, target))
    for key, named in (await _by_id(database, tx, by_id.keys())).items():
        found.update(dict.fromkeys(by_id[key], named))
    return found


async def _by_keys(database: Database, tx: Transaction, wanted: Collection[Asked]) -> tuple[dict[str, str], dict[Asked, Named]]:
    """The networks of services, and what these call so themselves."""
    grouped: defaultdict[tuple[str, Subject], list[str]] = defaultdict(list)
    for service, subject, target in sorted(wanted):
        grouped[service, subject].append(target)
    several = database.any("text")
    services, *told = await tx.fetch_all(
        [
            (_SERVICES, ()),
            *(
                (_BY_KEY[subject].format(several=several), (service, database.members(keys)))
                for (service, subject), keys in grouped.items()
            ),
        ]
    )
    found = {
        (service, subject, key): named
        for (service, subject), rows in zip(grouped, told, strict=True)
        for key, named in _named(rows, is_post=subject is Subject.POST).items()
    }
    return {row["name"]: row["network"] for row in services}, found


async def _by_id(
    database: Database, tx: Transaction, wanted: Collection[tuple[Subject, str]]
) -> dict[tuple[Subject, str], Named]:
    if not wanted:
        return {}
    ids = {subject: sorted(id_ for kind, id_ in wanted if kind is subject) for subject in _BY_KEY}
    users, posts = await tx.fetch_all(
        [
            (_USERS_BY_ID.format(several=database.any("text")), (database.members(ids[Subject.USER]),)),
            (_POSTS_BY_ID.format(several=with_ids(database)), (database.members(ids[Subject.POST]),)),
        ]
    )
    found = {(Subject.USER, id_): each for id_, each in _named(users).items()}
    return found | {(Subject.POST, id_): each for id_, each in _named(posts, is_post=True).items()}


def _named(rows: Iterable[Row], *, is_post: bool = False) -> dict[str, Named]:
    return {row["key"]: Named(row["id"], _label(row, is_post=is_post), is_post) for row in rows}


def _label(row: Row, *, is_post: bool) -> str:
    who = f"@{row['handle']}" if row["handle"] else str(row["name"])
    return f"post by {who}" if is_post else who
