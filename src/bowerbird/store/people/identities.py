"""Numbers for everyone a page names: by global id, or by the key that one service uses.

Whoever is unknown gets a row at once (a stub: id and when it was heard of); profiles are written into it later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from bowerbird.model import User, ids_at
from bowerbird.ports import Database, Row
from bowerbird.store.context import SaveContext, listed
from bowerbird.store.people.joining import merge_users, name_user
from bowerbird.store.people.names import has_local_keys, id_for, is_provisional


class People(Struct):
    """Who is who on one page."""

    ids: dict[str, int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    new: set[int] = field(default_factory=set)
    """Heard of for the first time on this page."""
    present: set[int] = field(default_factory=set)
    """Known, and not said to be gone when the page came."""
    opted_out: set[int] = field(default_factory=set)
    shut: set[int] = field(default_factory=set)
    """Nothing of what this page shows of them is kept: they are gone by the word of their own server, or wish it so by the
    word of this one alone."""


class PeopleStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        text = database.any("text")
        self.by_id = f"select user_no, id, opts_out from users where id {text}"
        self.at_address = f"select user_no, id, url, opts_out from users where id {text}"
        self.by_key = (
            "select k.key, k.user_no, u.id, u.opts_out from user_keys k join users u on u.user_no = k.user_no "
            f"where k.service = ? and k.key {text}"
        )
        # `where true`: without it SQLite takes `on conflict` for a join condition.
        self.add = (
            "insert into users (id, network, found_at, found_by) "
            "select value, cast(? as text), cast(? as bigint), cast(? as bigint) "
            f"from {listed(database, 'text')} where true on conflict (id) do nothing returning user_no, id"
        )
        self.set_key = (
            "insert into user_keys (service, key, user_no) values (?, ?, ?) "
            "on conflict (service, key) do update set user_no = excluded.user_no"
        )


async def number_people(
    s: SaveContext, sql: PeopleStatements, users: Sequence[User], authors: Iterable[str], keys: Iterable[str]
) -> People:
    """Finds or adds everybody: the users of the page, the authors (by id) and those named only by key."""
    people = People()
    if has_local_keys(s.network):
        await _number_local(s, sql, people, users, authors, set(keys))
        return people
    ids_by_key = {key: id_for(s.network, s.service_name, key) for key in keys} | {user.key: user.id for user in users}
    await _number_ids(s, sql, people, {*ids_by_key.values(), *(user.id for user in users), *authors})
    people.keys = {key: people.ids[known] for key, known in ids_by_key.items()}
    return people


async def known_people(s: SaveContext, sql: PeopleStatements, keys: Iterable[str]) -> dict[str, int]:
    """Numbers by key of those who are known already; nobody is added."""
    if has_local_keys(s.network):
        return {row["key"]: row["user_no"] for row in await s.fetch_in(sql.by_key, keys, s.service)}
    ids = {id_for(s.network, s.service_name, key): key for key in keys}
    return {ids[row["id"]]: row["user_no"] for row in await s.fetch_in(sql.by_id, ids)}


async def _number_ids(s: SaveContext, sql: PeopleStatements, people: People, ids: set[str]) -> None:
    _note(people, await s.fetch_in(sql.by_id, ids))
    await _add(s, sql, people, ids - people.ids.keys())


def _note(people: People, rows: Iterable[Row]) -> None:
    for row in rows:
        people.ids[row["id"]] = row["user_no"]
        if row["opts_out"]:
            people.opted_out.add(row["user_no"])


async def _add(s: SaveContext, sql: PeopleStatements, people: People, ids: set[str]) -> None:
    if not ids:
        return
    # In one order everywhere: two transactions that add the same people then wait for each other instead of deadlocking.
    members = s.database.members(sorted(ids))
    for row in await s.tx.fetch(sql.add, s.network, s.at, s.call, members):
        people.ids[row["id"]] = row["user_no"]
        people.new.add(row["user_no"])
    # What somebody else added in the meantime was not returned.
    _note(people, await s.fetch_in(sql.by_id, ids - people.ids.keys()))


async def _number_local(
    s: SaveContext, sql: PeopleStatements, people: People, users: Sequence[User], authors: Iterable[str], keys: set[str]
) -> None:
    named = {user.key: user.id for user in users}
    rows = await s.fetch_in(sql.by_key, named.keys() | keys, s.service)
    by_key = {row["key"]: row for row in rows}
    await _join_addresses(s, sql, people, [user for user in users if user.key not in by_key], named)
    _keep_ids(s, people, named, by_key)
    await _settle_names(s, sql, people, named, by_key)
    _note(people, (row for key, row in by_key.items() if key not in named))
    unnamed = {key: id_for(s.network, s.service_name, key) for key in keys - named.keys() - by_key.keys()}
    await _number_ids(s, sql, people, {*named.values(), *authors, *unnamed.values()} - people.ids.keys())
    people.keys = {key: row["user_no"] for key, row in by_key.items()} | {
        key: people.ids[known] for key, known in (named | unnamed).items()
    }
    changed = [key for key in named | unnamed if key not in by_key or by_key[key]["user_no"] != people.keys[key]]
    await s.execute_many(sql.set_key, [(s.service, key, people.keys[key]) for key in sorted(changed)])


def _keep_ids(s: SaveContext, people: People, named: dict[str, str], by_key: Mapping[str, Row]) -> None:
    """Where a page has only the web address of somebody whose id is known, the id stands."""
    for key, row in by_key.items():
        if key in named and row["id"] in ids_at(named[key]):
            people.ids[named[key]] = row["user_no"]
            named[key] = row["id"]


def _is_guess(s: SaveContext, known_id: str, told: str) -> bool:
    """Whether the id that is told now is the better one of the same account."""
    return is_provisional(known_id) or told in ids_at(known_id)


async def _join_addresses(
    s: SaveContext, sql: PeopleStatements, people: People, strangers: Sequence[User], named: dict[str, str]
) -> None:
    """Finds whom the service shows for the first time under their other name: by the web address of the profile where one
    server tells the id and another does not. Both must tell the same address."""
    guesses = {known: user for user in strangers for known in ids_at(user.id)}
    # Only by the rules that we know: anybody may claim somebody else's address.
    addressed = {user.url: user for user in strangers if user.url and user.id in ids_at(user.url)}
    for row in await s.fetch_in(sql.at_address, sorted({*guesses, *addressed})):
        if row["id"] in guesses and row["url"] in (None, guesses[row["id"]].id):
            user = guesses[row["id"]]
            _note(people, [row])
            people.ids[user.id], named[user.key] = row["user_no"], row["id"]
        elif row["id"] in addressed:
            await _rename(s, sql, people, row, addressed[row["id"]].id)


async def _rename(s: SaveContext, sql: PeopleStatements, people: People, row: Row, known_id: str) -> None:
    """Gives somebody the id that was learned, or joins the row with the one that has it."""
    if known_id not in people.ids:
        _note(people, await s.fetch_in(sql.by_id, [known_id]))
    known, guessed = people.ids.get(known_id), row["user_no"]
    if known is None:
        await name_user(s, guessed, known_id)
        _note(people, [{"id": known_id, "user_no": guessed, "opts_out": row["opts_out"]}])
    elif known != guessed:
        await merge_users(s, guessed, known)


async def _settle_names(
    s: SaveContext, sql: PeopleStatements, people: People, named: Mapping[str, str], by_key: Mapping[str, Row]
) -> None:
    """Gives the real id to those known only by key, and joins the two rows of one who was also known by id."""
    guessed = {
        key: row
        for key, row in by_key.items()
        if key in named and row["id"] != named[key] and _is_guess(s, row["id"], named[key])
    }
    if not guessed:
        return
    _note(people, await s.fetch_in(sql.by_id, {named[key] for key in guessed}))
    for key, row in guessed.items():
        await _rename(s, sql, people, row, named[key])
