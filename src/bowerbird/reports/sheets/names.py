"""What calls and tasks are about, by names that people know: whoever opted out, is gone or was never seen keeps the bare id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from bowerbird.model.subjects.telling import may_be_told
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.sheets.parts import Brought
from bowerbird.store.posts.by_id import with_ids

Asked = tuple[str, str]
"""The name of a service, and what was asked about there; an empty service for ids that hold everywhere."""
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


class Named(Struct, frozen=True):
    """An account or a post that may be told of."""

    id: str
    label: str
    is_post: bool = False

    @property
    def area(self) -> str:
        return "posts" if self.is_post else "users"


Names = Mapping[Asked, Named]


def parts(targets: str) -> list[str]:
    """The targets that the log names of a call."""
    return targets.split(",")


def asked_about(brought: Brought | None) -> list[Asked]:
    """What the call that brought something asked about."""
    return [] if brought is None else [(brought.service or "", part) for part in parts(brought.targets)]


async def read_names(database: Database, tx: Transaction, asked: Iterable[Asked]) -> Names:
    """Those that have a name; all others are left out."""
    wanted, found = set(asked), dict[Asked, Named]()
    services, by_key = await _by_keys(database, tx, _by_service(wanted)) if wanted else ({}, {})
    found.update(by_key)
    if wanted <= found.keys():
        return found
    by_id: defaultdict[str, list[Asked]] = defaultdict(list)
    for service, target in wanted - found.keys():
        by_id[target].append((service, target))
        if service in services:
            by_id[f"{services[service]}:{target}"].append((service, target))
    for id_, named in (await _by_id(database, tx, by_id.keys())).items():
        found.update(dict.fromkeys(by_id[id_], named))
    return found


def _by_service(wanted: Collection[Asked]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for service, target in sorted(wanted):
        found[service].append(target)
    return found


async def _by_keys(
    database: Database, tx: Transaction, wanted: Mapping[str, list[str]]
) -> tuple[dict[str, str], dict[Asked, Named]]:
    """The networks of services, and what these call so themselves. A number may be an account's and a post's: then nobody knows
    which is meant."""
    several = database.any("text")
    asked = [(service, database.members(keys)) for service, keys in wanted.items()]
    services, *told = await tx.fetch_all(
        [
            (_SERVICES, ()),
            *((_USERS_BY_KEY.format(several=several), each) for each in asked),
            *((_POSTS_BY_KEY.format(several=several), each) for each in asked),
        ]
    )
    found: dict[Asked, Named] = {}
    for service, users, posts in zip(wanted, told[: len(asked)], told[len(asked) :], strict=True):
        people, written = _named(users), _named(posts, is_post=True)
        found |= {(service, key): each for key, each in (people | written).items() if not (key in people and key in written)}
    return {row["name"]: row["network"] for row in services}, found


async def _by_id(database: Database, tx: Transaction, ids: Collection[str]) -> dict[str, Named]:
    if not ids:
        return {}
    members = database.members(sorted(ids))
    users, posts = await tx.fetch_all(
        [
            (_USERS_BY_ID.format(several=database.any("text")), (members,)),
            (_POSTS_BY_ID.format(several=with_ids(database)), (members,)),
        ]
    )
    return _named(posts, is_post=True) | _named(users)


def _named(rows: Iterable[Row], *, is_post: bool = False) -> dict[str, Named]:
    return {row["key"]: Named(row["id"], _label(row, is_post=is_post), is_post) for row in rows}


def _label(row: Row, *, is_post: bool) -> str:
    who = f"@{row['handle']}" if row["handle"] else str(row["name"])
    return f"post by {who}" if is_post else who
