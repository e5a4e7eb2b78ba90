"""Numbers for everyone a page names: by global id, or by the key that one service uses.

Whoever is unknown gets a row at once (a stub: id and when it was heard of); profiles are written into it later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from bowerbird.model import User, ids_at
from bowerbird.ports import Database, Row
from bowerbird.store.context import SaveContext, found_in, listed
from bowerbird.store.numbers import HIGHEST_USER
from bowerbird.store.people.joining import merge_users, name_user
from bowerbird.store.people.names import is_provisional


class PagePeople(Struct):
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
        self.by_id = f"select users.user_no, users.id, users.opts_out from {found_in(database, 'users', 'id', 'text')}"
        self.at_address = f"select user_no, id, url, opts_out from users where id {text}"
        self.by_key = (
            "select k.key, k.user_no, u.id, u.opts_out from user_keys k join users u on u.user_no = k.user_no "
            f"where k.service = ? and k.key {text}"
        )
        # `where true`: without it SQLite takes `on conflict` for a join condition.
        is_sqlite = database.dialect == "sqlite"
        self.add = (
            f"insert into users ({'user_no, ' if is_sqlite else ''}id, network, found_at, found_by) "
            f"select {f'{HIGHEST_USER} + 1 + key, ' if is_sqlite else ''}value, "
            "cast(? as text), cast(? as bigint), cast(? as bigint) "
            f"from {listed(database, 'text')} where true on conflict (id) do nothing returning user_no, id"
        )
        self.set_key = (
            "insert into user_keys (service, key, user_no) values (?, ?, ?) "
            "on conflict (service, key) do update set user_no = excluded.user_no"
        )


async def number_people(
    s: SaveContext, sql: PeopleStatements, users: Sequence[User], authors: Iterable[str], keys: Iterable[str]
) -> PagePeople:
    """Finds or adds everybody: the users of the page, the authors (by id) and those named only by key."""
    people = PagePeople()
    if s.origin.has_local_keys:
        await _Local(s, sql, people, {user.key: user.id for user in users}).number(users, set(authors), set(keys))
        return people
    ids_by_key = s.origin.ids_of(keys) | {user.key: user.id for user in users}
    await _number_ids(s, sql, people, {*ids_by_key.values(), *(user.id for user in users), *authors})
    people.keys = {key: people.ids[known] for key, known in ids_by_key.items()}
    return people


async def known_people(s: SaveContext, sql: PeopleStatements, keys: Iterable[str]) -> dict[str, int]:
    """Numbers by key of those who are known already; nobody is added."""
    if s.origin.has_local_keys:
        return {row["key"]: row["user_no"] for row in await s.fetch_in(sql.by_key, keys, s.origin.number)}
    ids = {s.origin.id_of(key): key for key in keys}
    return {ids[row["id"]]: row["user_no"] for row in await s.fetch_in(sql.by_id, ids)}


async def _number_ids(s: SaveContext, sql: PeopleStatements, people: PagePeople, ids: set[str]) -> None:
    _note(people, await s.fetch_in(sql.by_id, ids))
    await _add(s, sql, people, ids - people.ids.keys())


def _note(people: PagePeople, rows: Iterable[Row]) -> None:
    for row in rows:
        people.ids[row["id"]] = row["user_no"]
        if row["opts_out"]:
            people.opted_out.add(row["user_no"])


async def _add(s: SaveContext, sql: PeopleStatements, people: PagePeople, ids: set[str]) -> None:
    if not ids:
        return
    # In one order everywhere: two transactions that add the same people then wait for each other instead of deadlocking.
    members = s.database.members(sorted(ids))
    for row in await s.tx.fetch(sql.add, s.origin.network, s.at, s.call, members):
        people.ids[row["id"]] = row["user_no"]
        people.new.add(row["user_no"])
    # What somebody else added in the meantime was not returned.
    _note(people, await s.fetch_in(sql.by_id, ids - people.ids.keys()))


class _Local(Struct):
    """Numbers people where a key means something on one service only."""

    s: SaveContext
    sql: PeopleStatements
    people: PagePeople
    named: dict[str, str]
    """Ids of those of whom the page has a profile, by key."""
    asked: dict[str, Row] | None = None
    """Who is stored under the ids that the page shows, where that was asked beforehand: of a distant database, with all else."""
    addressed: Sequence[Row] = ()

    async def number(self, users: Sequence[User], authors: set[str], keys: set[str]) -> None:
        s, people, named = self.s, self.people, self.named
        by_key = {row["key"]: row for row in await self._ask(users, authors, keys)}
        await self._join_addresses([user for user in users if user.key not in by_key])
        self._keep_ids(by_key)
        has_renamed = await self._settle_names(by_key) or bool(self.addressed)
        # Who stands under the id that the page shows need not be asked for by it, unless somebody got another name just now.
        _note(people, (row for key, row in by_key.items() if key not in named or (row["id"] == named[key] and not has_renamed)))
        unnamed = {key: s.origin.id_of(key) for key in keys - named.keys() - by_key.keys()}
        await self._number_ids({*named.values(), *authors, *unnamed.values()} - people.ids.keys())
        people.keys = {key: row["user_no"] for key, row in by_key.items()} | {
            key: people.ids[known] for key, known in (named | unnamed).items()
        }
        changed = [key for key in named | unnamed if key not in by_key or by_key[key]["user_no"] != people.keys[key]]
        await s.tx.execute_all([(self.sql.set_key, [(s.origin.number, key, people.keys[key]) for key in sorted(changed)])])

    async def _ask(self, users: Sequence[User], authors: set[str], keys: set[str]) -> Sequence[Row]:
        """Finds people by their keys; on a distant database also by their ids and addresses, in the same question."""
        s, sql, wanted = self.s, self.sql, sorted(self.named.keys() | keys)
        if s.database.dialect == "sqlite":
            return await s.fetch_in(sql.by_key, wanted, s.origin.number)
        ids = sorted({*self.named.values(), *authors})
        addresses = sorted({known for user in users for known in (*ids_at(user.id), user.url) if known})
        by_key, by_id, self.addressed = await s.tx.fetch_all(
            [(sql.by_key, [s.origin.number, wanted]), (sql.by_id, [ids]), (sql.at_address, [addresses])]
        )
        self.asked = {row["id"]: row for row in by_id}
        return by_key

    async def _find(self, ids: set[str]) -> None:
        """Notes those who are stored under ids that the page shows."""
        if self.asked is None:
            _note(self.people, await self.s.fetch_in(self.sql.by_id, ids))
        else:
            _note(self.people, [self.asked[known] for known in ids & self.asked.keys()])

    async def _number_ids(self, ids: set[str]) -> None:
        # On a distant database whoever is not asked for by id gets a row, or else proves to have one.
        await self._find(ids)
        await _add(self.s, self.sql, self.people, ids - self.people.ids.keys())

    def _keep_ids(self, by_key: Mapping[str, Row]) -> None:
        """Where a page has only the web address of somebody whose id is known, the id stands."""
        for key, row in by_key.items():
            if key in self.named and row["id"] != self.named[key] and row["id"] in ids_at(self.named[key]):
                self.people.ids[self.named[key]] = row["user_no"]
                self.named[key] = row["id"]

    async def _join_addresses(self, strangers: Sequence[User]) -> None:
        """Finds whom the service shows for the first time under their other name: by the web address of the profile where one
        server tells the id and another does not. Both must tell the same address."""
        guesses = {known: user for user in strangers for known in ids_at(user.id)}
        # Only by the rules that we know: anybody may claim somebody else's address.
        addressed = {user.url: user for user in strangers if user.url and user.id in ids_at(user.url)}
        if self.asked is None:
            self.addressed = await self.s.fetch_in(self.sql.at_address, sorted({*guesses, *addressed}))
        for row in self.addressed:
            if row["id"] in guesses and row["url"] in (None, guesses[row["id"]].id):
                user = guesses[row["id"]]
                _note(self.people, [row])
                self.people.ids[user.id], self.named[user.key] = row["user_no"], row["id"]
            elif row["id"] in addressed:
                await self._rename(row, addressed[row["id"]].id)

    async def _rename(self, row: Row, known_id: str) -> None:
        """Gives somebody the id that was learned, or joins the row with the one that has it."""
        if known_id not in self.people.ids:
            await self._find({known_id})
        known, guessed = self.people.ids.get(known_id), row["user_no"]
        if known is None:
            await name_user(self.s, guessed, known_id)
            _note(self.people, [{"id": known_id, "user_no": guessed, "opts_out": row["opts_out"]}])
        elif known != guessed:
            await merge_users(self.s, guessed, known)
            # What was read of them is no longer so.
            self.asked = None

    async def _settle_names(self, by_key: Mapping[str, Row]) -> bool:
        """Gives the real id to those known only by key, and joins the two rows of one who was also known by id; answers whether
        there were any."""
        guessed = {
            key: row
            for key, row in by_key.items()
            if key in self.named and row["id"] != self.named[key] and _is_guess(row["id"], self.named[key])
        }
        if not guessed:
            return False
        await self._find({self.named[key] for key in guessed})
        for key, row in guessed.items():
            await self._rename(row, self.named[key])
        return True


def _is_guess(known_id: str, told: str) -> bool:
    """Whether the id that is told now is the better one of the same account."""
    return is_provisional(known_id) or told in ids_at(known_id)
