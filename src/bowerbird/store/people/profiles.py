"""Profiles: change-only updates with field-by-field history."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct, field

from bowerbird.model import SavedUser, Subject, User
from bowerbird.ports import Database, Row
from bowerbird.store.absences.authority import HOME, is_first_word, may_change, teller
from bowerbird.store.absences.gone import GoneStatements, Returns, back_again, is_bare
from bowerbird.store.absences.lagging import outdated_profiles
from bowerbird.store.absences.purge import USER_CONTENT, mark_residue, purge_told, purge_users
from bowerbird.store.context import SaveContext
from bowerbird.store.fields import (
    OPTS_OUT,
    POSTS_COUNTER,
    USER_COUNTERS,
    USER_FIELDS,
    Values,
    bare_user,
    changes_of_user,
    filled,
    history_texts,
    last_columns,
    merged,
    user_values,
)
from bowerbird.store.payloads.raw import Packer
from bowerbird.store.people.identities import PagePeople
from bowerbird.store.people.names import tells_returns

_LAG = 10_000_000
"""Microseconds for which a service may still name an account as before, after a stream has told."""
_NOTHING: Values = (None,) * len(USER_FIELDS)
_stored = last_columns(USER_FIELDS)
_content = itemgetter(*(USER_FIELDS.index(name) for name in USER_CONTENT))
_WRITE = (
    f"update users set {', '.join(f'{name} = ?' for name in USER_FIELDS)}, seen_at = ?, seen_by = ?, "
    "told_by = coalesce(?, told_by), changed_at = ?, "
    "raw = coalesce(?, raw), raw_dictionary = case when cast(? as bigint) = 1 then ? else raw_dictionary end where user_no = ?"
)
_SEEN = "update users set seen_at = ?, seen_by = ? where user_no = ?"
_REMEMBER = "insert into user_history (user_no, at, call, before, after) values (?, ?, ?, ?, ?)"
_HAD = "insert into former_handles (name, user_no, until, handle) values (?, ?, ?, ?)"
_HANDLE = USER_FIELDS.index("handle")


class UserStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        bigint = database.any("bigint")
        self.stored = (
            f"select user_no, id, seen_at, seen_by, told_by, changed_at, checked_posts, {', '.join(USER_FIELDS)} "
            f"from users where user_no {bigint}"
        )
        self.seen = f"update users set seen_at = ?, seen_by = ? where user_no {bigint}"
        self.checked = f"update users set checked_posts = posts where user_no {bigint} and checked_posts is distinct from posts"
        self.first_checked = f"update users set checked_posts = posts where user_no {bigint} and checked_posts is null"
        self.gone = GoneStatements(database)


class _Profiles(Struct):
    """The profiles of one page on their way into the table, gathered so that each kind of write is one statement."""

    s: SaveContext
    people: PagePeople
    packer: Packer
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    history: list[tuple[Any, ...]] = field(default_factory=list)
    former_handles: list[tuple[str, int, int, str]] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    opted_out: dict[int, str] = field(default_factory=dict)
    opted_in: list[str] = field(default_factory=list)
    unshown: list[int] = field(default_factory=list)
    """Asked to be left alone, by the word of a service that does not speak for them: only its own copies go."""
    is_emptied: bool = False
    """Something that was stored of a profile is overwritten by nothing."""

    def take(self, number: int, user: User, stored: Row | None) -> SavedUser:
        """Decides what one profile changes."""
        old = _NOTHING if stored is None else _stored(stored)
        is_new = stored is None or stored["seen_at"] is None
        checked = None if stored is None else stored["checked_posts"]
        new = merged(old, user_values(user))
        if new[OPTS_OUT]:
            return self._take_opted_out(number, user, old, is_new)
        if old[OPTS_OUT]:
            self.people.opted_out.discard(number)
            self.opted_in.append(user.id)
        if is_new or stored is None:
            self._write(number, user, new, self.s.at)
        elif is_first_word(self.s, user.id, stored):
            # Another service's view before this one says nothing of what the account was.
            self._write(number, user, new, stored["changed_at"] if old == new else self.s.at)
        elif old == new:
            self.unchanged.append(number)
        else:
            self._write(number, user, new, self._note_change(number, old, new, stored["changed_at"]))
        is_changed = is_new or bool(changes_of_user(old, new))
        return SavedUser(user.id, user.key, is_new, is_changed, checked, new[POSTS_COUNTER])

    def view(self, number: int, user: User, stored: Row) -> SavedUser:
        """A profile as another service than its own sees it: it only fills what nobody told. Where it asks to be left alone, and
        the account's own server has not spoken, nothing is kept that this service shows of it."""
        old: Values = _stored(stored)
        is_unshown = bool(user.opts_out) and stored["told_by"] != HOME
        if is_unshown:
            self.people.opted_out.add(number)
            self.people.shut.add(number)
            self.unshown.append(number)
        # Whether it wishes to be collected is not for a view to fill in.
        silent = msgspec.structs.replace(user, opts_out=None)
        new = old if old[OPTS_OUT] or is_unshown else filled(old, user_values(silent))
        if old != new:
            seen = (stored["seen_at"], stored["seen_by"], None, stored["changed_at"])
            self.rows.append((*new, *seen, None, 0, None, number))
        return SavedUser(user.id, user.key, False, False, stored["checked_posts"], new[POSTS_COUNTER], is_view=True)

    def _take_opted_out(self, number: int, user: User, old: Values, is_new: bool) -> SavedUser:
        self.people.opted_out.add(number)
        bare = bare_user()
        if old == bare:
            self.unchanged.append(number)
        else:
            self._write(number, msgspec.structs.replace(user, raw=b""), bare, self.s.at)
            self.opted_out[number] = user.id
            self.is_emptied |= any(value is not None for value in _content(old))
        return SavedUser(user.id, user.key, is_new, old != bare, None, None)

    def _note_change(self, number: int, old: Values, new: Values, changed_at: int | None) -> int | None:
        at = self.s.at
        if all(value is None for value in _content(old)):
            # It was purged: what it is now says nothing of what it was.
            return at
        changed = changes_of_user(old, new)
        if not changed:
            return changed_at
        is_due = changed_at is None or at - changed_at >= self.s.counters_every
        if not is_due and USER_COUNTERS.issuperset(changed):
            return changed_at
        self.history.append((number, at, self.s.call, *history_texts(USER_FIELDS, changed, old, new)))
        if "handle" in changed and (had := old[_HANDLE]):
            self.former_handles.append((had.lower(), number, at, had))
        return at

    def _write(self, number: int, user: User, values: Values, changed_at: int | None) -> None:
        s = self.s
        body, dictionary = self.packer.pack((s.origin.network, Subject.USER), user.raw)
        seen = (s.at, s.call, teller(s, user.id), changed_at)
        self.rows.append((*values, *seen, body, int(body is not None), dictionary, number))

    async def flush(self, sql: UserStatements) -> None:
        s = self.s
        # In number order everywhere, so that two transactions never wait for each other in a circle.
        seen = [(s.at, s.call, number) for number in sorted(self.unchanged)]
        if s.database.dialect == "sqlite":
            # Without a round trip to save, one statement for all is the quicker one.
            await s.execute_in(sql.seen, self.unchanged, s.at, s.call)
            seen = []
        written = sorted(self.rows, key=itemgetter(-1))
        changes = [(_REMEMBER, self.history or None), (_HAD, self.former_handles or None)]
        await s.tx.execute_all([(_WRITE, written), (_SEEN, seen), *changes])
        await s.execute_in(sql.gone.undelete, self.opted_in)
        if self.opted_out:
            await purge_users(s, sql.gone.purge, self.opted_out, "opted_out", new=self.people.new)
        if self.is_emptied:
            await mark_residue(s)
        if self.unshown:
            await purge_told(s, sql.gone.purge, self.unshown)


async def save_users(
    s: SaveContext, sql: UserStatements, users: Sequence[User], people: PagePeople, packer: Packer
) -> list[SavedUser]:
    """Writes every profile of the page, each once."""
    by_number = _once(users, people)
    known = by_number.keys() - people.new
    stored, absences = await _known(s, sql, known)
    by_number |= await _with_newer_handles(s, by_number, stored)
    by_number |= _under_their_ids(by_number, stored)
    views = {number for number, row in stored.items() if not may_change(s, row["id"], row)}
    outdated = set[int]()
    if stored and not s.is_live and tells_returns(s.origin.network):
        outdated = await outdated_profiles(s, sql.gone.lag, by_number, stored)
    returns = Returns(frozenset(known))
    if absences:
        returns = await back_again(s, sql.gone, {number: by_number[number] for number in known}, views, absences)
    people.shut |= returns.stale & views
    people.present |= returns.present
    profiles = _Profiles(s, people, packer)
    saved: list[SavedUser] = []
    for number, user in by_number.items():
        if s.is_live and is_bare(user):
            saved += [SavedUser(user.id, user.key, False, False, None, None, is_back=True)] if number in returns.back else ()
        elif number in views | outdated and number not in returns.stale:
            saved.append(profiles.view(number, user, stored[number]))
        elif number not in returns.stale:
            taken = profiles.take(number, user, stored.get(number))
            saved.append(msgspec.structs.replace(taken, is_back=True) if number in returns.back else taken)
    await profiles.flush(sql)
    return saved


async def _known(s: SaveContext, sql: UserStatements, users: Collection[int]) -> tuple[dict[int, Row], Sequence[Row]]:
    """The stored profiles by number, and who of them is said to be gone."""
    if not users:
        return {}, ()
    members = s.database.members(sorted(users))
    stored, absences = await s.tx.fetch_all([(sql.stored, [members]), (sql.gone.open, [members])])
    return {row["user_no"]: row for row in stored}, absences


async def _with_newer_handles(s: SaveContext, users: Mapping[int, User], stored: Mapping[int, Row]) -> dict[int, User]:
    """Profiles that were under way when a stream told another handle, or of a service that has not heard of it yet: the told
    one stands."""
    renamed = [
        n for n, row in stored.items() if row["handle"] and row["changed_at"] and users[n].handle not in (None, row["handle"])
    ]
    if s.is_live or not renamed:
        return {}
    since = await s.observed_at() - _LAG
    late = [number for number in renamed if stored[number]["changed_at"] > since]
    return {number: msgspec.structs.replace(users[number], handle=stored[number]["handle"]) for number in late}


def _under_their_ids(users: Mapping[int, User], stored: Mapping[int, Row]) -> dict[int, User]:
    """Those whom the page names otherwise than the store does."""
    return {
        number: msgspec.structs.replace(users[number], id=row["id"])
        for number, row in stored.items()
        if row["id"] != users[number].id
    }


async def note_checked(
    s: SaveContext, sql: UserStatements, saved: Sequence[SavedUser], people: PagePeople, *, is_heeded: bool
) -> None:
    """Remembers the post counters of those that were asked about: profiles that come along carry counters too, of posts that
    nobody has fetched yet. A crawl that does nothing about counters leaves the news to the others in the same store."""
    statement = sql.checked if is_heeded else sql.first_checked
    await s.execute_in(statement, sorted(people.ids[user.id] for user in saved))


def came_along(user: User) -> User:
    """An account that was not asked for itself: three zeros there mean that the service did not count, for some never do."""
    if user.posts == 0 and user.followers == 0 and user.following == 0:
        return msgspec.structs.replace(user, posts=None, followers=None, following=None)
    return user


def _once(users: Sequence[User], people: PagePeople) -> dict[int, User]:
    """Users by number; of one listed twice the later sighting counts, and the earlier one where the later is silent."""
    by_number = {people.ids[user.id]: user for user in users}
    if len(by_number) == len(users):
        return by_number
    folded: dict[int, User] = {}
    for user in users:
        number = people.ids[user.id]
        said = {name: value for name in (*USER_FIELDS, "raw") if (value := getattr(user, name)) not in (None, b"")}
        folded[number] = msgspec.structs.replace(folded[number], **said) if number in folded else user
    return folded
