"""What is neither user, post nor relation: lists and who is on them, versions of edited posts, volumes of queries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from bowerbird.clock import to_micros
from bowerbird.model import Member, Page, UserList, Version, Volume
from bowerbird.ports import Database
from bowerbird.store.absences.authority import may_change
from bowerbird.store.context import SaveContext, ordered
from bowerbird.store.intake.clean import clean_text, is_key
from bowerbird.store.people.identities import PagePeople
from bowerbird.store.posts.by_id import with_ids

_LIST = """
insert into lists (id, network, owner, kind, name, description, members, followers, created_at, found_at, found_by, seen_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do update set
    owner = coalesce(excluded.owner, lists.owner), kind = coalesce(excluded.kind, lists.kind),
    name = coalesce(excluded.name, lists.name),
    description = coalesce(excluded.description, lists.description), members = coalesce(excluded.members, lists.members),
    followers = coalesce(excluded.followers, lists.followers), created_at = coalesce(excluded.created_at, lists.created_at),
    seen_at = excluded.seen_at
"""
_MEMBER = """
insert into list_members (list_no, user_no, found_at, found_by, seen_at) values (?, ?, ?, ?, ?)
on conflict (list_no, user_no) do update set seen_at = excluded.seen_at
"""
_VERSION = """
insert into post_versions (post_no, at, text, warning, is_sensitive, links, call) values (?, ?, ?, ?, ?, ?, ?)
on conflict (post_no, at) do update set links = coalesce(post_versions.links, excluded.links)
"""
_VOLUME = """
insert into volumes (service, query, begins_at, ends_at, posts, at, call) values (?, ?, ?, ?, ?, ?, ?)
on conflict (service, query, begins_at) do update set
    ends_at = excluded.ends_at, posts = excluded.posts, at = excluded.at, call = excluded.call
"""


class ListStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        text = database.any("text")
        self.lists = f"select list_no, id from lists where id {text}"
        # Content of those who opted out is not kept, in no version.
        readable = "p.deleted_at is null and coalesce(u.opts_out, 0) = 0"
        joined = f"from posts p join users u on u.user_no = p.author where {readable} and {with_ids(database, 'p')}"
        locked = ordered(database, "p.post_no", "no key update of p")
        self.posts = f"select p.post_no, p.id, p.told_by, p.seen_at {joined}{locked}"
        self.post_keys = (
            "select k.key, p.id from post_keys k join posts p on p.post_no = k.post_no "
            f"where k.service = ? and k.key {database.any('text')}"
        )


def clean_lists(page: Page) -> Page:
    """The same page without what a database would refuse of these items."""
    return msgspec.structs.replace(
        page,
        lists=tuple(_mended(each) for each in page.lists if is_key(each.id) and is_key(each.owner or each.id)),
        members=tuple(each for each in page.members if is_key(each.list) and is_key(each.user)),
        versions=tuple(each for each in page.versions if is_key(each.post)),
        volumes=tuple(each for each in page.volumes if is_key(each.query)),
    )


def named_in_lists(page: Page) -> Iterator[str]:
    """Keys of the accounts that these items name."""
    yield from (each.owner for each in page.lists if each.owner)
    yield from (member.user for member in page.members)


async def save_lists(s: SaveContext, sql: ListStatements, page: Page, people: PagePeople) -> None:
    if page.lists:
        await s.execute_many(_LIST, [_list_row(s, each, people) for each in sorted(page.lists, key=lambda one: one.id)])
    if page.members:
        await _save_members(s, sql, page.members, people)
    if page.versions:
        await _save_versions(s, sql, page.versions)
    if page.volumes:
        await s.execute_many(_VOLUME, [_volume_row(s, each) for each in page.volumes])


def _mended(item: UserList) -> UserList:
    name, description = (clean_text(text) if text is not None else None for text in (item.name, item.description))
    return msgspec.structs.replace(item, name=name, description=description)


def _list_row(s: SaveContext, item: UserList, people: PagePeople) -> tuple[object, ...]:
    owner = people.keys.get(item.owner) if item.owner else None
    # Of an owner who opted out the list is known, but not what it says.
    name, description = (None, None) if owner in people.opted_out else (item.name, item.description)
    created = to_micros(item.created_at) if item.created_at else None
    numbers = (item.members, item.followers, created)
    return (item.id, s.origin.network, owner, item.kind, name, description, *numbers, s.at, s.call, s.at)


async def _save_members(s: SaveContext, sql: ListStatements, members: Sequence[Member], people: PagePeople) -> None:
    ids = s.origin.ids_of(sorted({member.list for member in members}))
    stubs = [UserList(id=known, key=key) for key, known in ids.items()]
    await s.execute_many(_LIST, [_list_row(s, stub, people) for stub in stubs])
    numbers = {row["id"]: row["list_no"] for row in await s.fetch_in(sql.lists, ids.values())}
    rows = {(numbers[ids[member.list]], people.keys[member.user]) for member in members}
    await s.execute_many(_MEMBER, [(*row, s.at, s.call, s.at) for row in sorted(rows)])


async def _save_versions(s: SaveContext, sql: ListStatements, versions: Sequence[Version]) -> None:
    """Writes the versions of posts that are stored; those of a post nobody has seen would have no owner."""
    numbers = await post_numbers(s, sql, {version.post for version in versions}, only_own=True)
    known = [(numbers[each.post], each) for each in versions if each.post in numbers]
    await s.execute_many(_VERSION, [_version_row(s, number, each) for number, each in known])


async def post_numbers(s: SaveContext, sql: ListStatements, keys: Collection[str], *, only_own: bool = False) -> dict[str, int]:
    """Numbers by key of those posts that are stored with their content, or only of those that the service may speak for."""
    ids = s.origin.ids_of(keys)
    if s.origin.has_local_keys:
        ids |= {row["key"]: row["id"] for row in await s.fetch_in(sql.post_keys, keys, s.origin.number)}
    rows = await s.fetch_in(sql.posts, ids.values())
    numbers = {row["id"]: row["post_no"] for row in rows if not only_own or may_change(s, row["id"], row)}
    return {key: numbers[known] for key, known in ids.items() if known in numbers}


def _version_row(s: SaveContext, post_no: int, item: Version) -> tuple[object, ...]:
    text, warning = (clean_text(part) if part is not None else None for part in (item.text, item.warning))
    links = msgspec.json.encode([clean_text(link) for link in item.links]).decode() if item.links else None
    is_sensitive = None if item.is_sensitive is None else int(item.is_sensitive)
    return (post_no, to_micros(item.at), text, warning, is_sensitive, links, s.call)


def _volume_row(s: SaveContext, item: Volume) -> tuple[object, ...]:
    return (s.origin.number, item.query, to_micros(item.begins_at), to_micros(item.ends_at), item.posts, s.at, s.call)
