"""The locks of one page, taken in one order by everybody: names of strangers, rows of accounts, rows of posts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from zlib import crc32

from bowerbird.db.postgres.pages_lock import ALONE
from bowerbird.model import Gone, Page
from bowerbird.ports import Database, Transaction
from bowerbird.store.context import SaveContext
from bowerbird.store.forgetting.tombstones import VERSION, Tombstones
from bowerbird.store.locks.touched import (
    Firmness,
    Touched,
    Unknown,
    account_names,
    accounts_by_id,
    accounts_by_key,
    perhaps_unknown,
    post_names,
)
from bowerbird.store.people.identities import PagePeople
from bowerbird.store.people.names import PROVISIONAL

MOST_NAMES = 256
"""Locks on names that one page takes; one with more strangers waits until it saves alone. A server with the usual settings has
room for 6,400 locks of all its sessions."""
_ACCOUNTS, _POSTS = 7254105, 7254106
_SAVE_ALONE = f"select pg_advisory_xact_lock({ALONE})"
# One after the other, in the order of the lists.
_LOCK_NAMES = f"""
select count(*) from (
    select pg_advisory_xact_lock_shared({ALONE})
    union all select pg_advisory_xact_lock({_ACCOUNTS}, name) from unnest(?::int[]) as listed (name)
    union all select pg_advisory_xact_lock({_POSTS}, name) from unnest(?::int[]) as listed (name)
) as locked
"""
_KNOWN = """
select 'key' as kind, key as name from user_keys where service = ? and key = any(?::text[])
union all select 'id', id from users where id = any(?::text[])
union all select 'post', id from posts where id = any(?::text[])
union all select 'post key', key from post_keys where service = ? and key = any(?::text[])
"""
# Where an id is a guess, its row goes when the real one is learned: all who name it hold it, and firmly who may learn the id.
_GUESSES = " or ".join(f"u.id like '{start}%'" for start in (*PROVISIONAL, "%/@"))
_HOW_FIRM = f"case when {_GUESSES} then case when named.how > 0 then 2 else 0 end else named.how end"
# A lock of each strength in one pass: by number, whatever the strength, so that no two pages wait for each other in a circle.
_ROW = "select user_no, opts_out from users where user_no = wanted.user_no"
_LOCK_ACCOUNTS = f"""
with named as (
    select k.user_no, w.how from unnest(?::text[], ?::int[]) as w (key, how)
    join user_keys k on k.service = ? and k.key = w.key
    union all select u.user_no, w.how from unnest(?::text[], ?::int[]) as w (id, how) join users u on u.id = w.id
),
wanted as materialized (
    select u.user_no, max({_HOW_FIRM}) as how from named join users u on u.user_no = named.user_no
    group by u.user_no having max({_HOW_FIRM}) >= 0 order by u.user_no
)
select count(*) as wanted, count(coalesce(a.user_no, b.user_no, c.user_no)) as locked, {VERSION} as version,
    array_agg(wanted.user_no) filter (where coalesce(a.opts_out, b.opts_out, c.opts_out) = 1) as opted_out
from wanted
left join lateral ({_ROW} and wanted.how = 2 for update) a on true
left join lateral ({_ROW} and wanted.how = 1 for no key update) b on true
left join lateral ({_ROW} and wanted.how = 0 for key share) c on true
"""


class Locks:
    """Takes what pages must lock before they are saved; nothing on SQLite, which has one writer. Once it has them, a page that
    was looked over before somebody was forgotten is refused: whoever forgets waits for all pages that are being saved."""

    def __init__(self, database: Database, tombstones: Tombstones) -> None:
        self._is_needed = database.dialect == "postgresql"
        self._tombstones = tombstones
        self._alone: Transaction | None = None
        self._confirmed: Transaction | None = None

    async def save_alone(self, tx: Transaction) -> None:
        """Waits for all who are saving, and makes all others wait until the transaction ends. To be called before its first
        page."""
        if self._is_needed and self._alone is not tx:
            await tx.execute(_SAVE_ALONE)
            self._alone = tx
            await self._confirm(tx)

    async def _confirm(self, tx: Transaction) -> None:
        if self._confirmed is not tx:
            await self._tombstones.confirm(tx)
            self._confirmed = tx

    async def begin(self, s: SaveContext, page: Page, gone: Sequence[Gone], owners: Mapping[str, Firmness]) -> Touched | None:
        """Locks what the page may add; answers which accounts it touches, by id, that are still to be held when they have
        numbers: where keys mean something on one service only they are held at once, because two of them may become one."""
        if not self._is_needed or self._alone is s.tx:
            await self._confirm(s.tx)
            s.reserved.names.update(post.id for post in page.posts)
            return None
        by_key = accounts_by_key(page, gone, owners)
        by_id = accounts_by_id(s, page, by_key)
        unknown = await _unknown(s, perhaps_unknown(s, page, gone, by_key))
        s.reserved.names.update(unknown.posts)
        accounts, posts = _locks(account_names(s, page, unknown)), _locks(post_names(s, unknown))
        if len(accounts) + len(posts) > MOST_NAMES:
            await self.save_alone(s.tx)
            return None
        await s.tx.execute(_LOCK_NAMES, accounts, posts)
        if not s.origin.has_local_keys:
            return by_id
        await self._hold(s, by_key, by_id)
        return None

    async def hold(self, s: SaveContext, accounts: Touched, people: PagePeople) -> None:
        """Holds accounts that have rows by now; what is known of their wishes is as it stays."""
        people.opted_out.clear()
        people.opted_out.update(await self._hold(s, {}, accounts))

    async def _hold(self, s: SaveContext, by_key: Touched, by_id: Touched) -> Sequence[int]:
        """Locks the rows of accounts; answers those who wish not to be collected."""
        if not by_key and not by_id:
            return ()
        values = (list(by_key), list(by_key.values()), s.origin.number, list(by_id), list(by_id.values()))
        while True:
            row = await s.tx.fetch_one(_LOCK_ACCOUNTS, *values)
            if row is None:
                return ()
            await self._tombstones.confirm(s.tx, row["version"])
            # One that was joined with another row while we waited is named by its new number now.
            if row["wanted"] == row["locked"]:
                return row["opted_out"] or ()


async def _unknown(s: SaveContext, names: Unknown) -> Unknown:
    """Those of the names that the store does not know."""
    if names == Unknown():
        return names
    values = (s.origin.number, list(names.keys), list(names.ids), list(names.posts), s.origin.number, list(names.post_keys))
    known: dict[str, set[str]] = {}
    for row in await s.tx.fetch(_KNOWN, *values):
        known.setdefault(row["kind"], set()).add(row["name"])
    return Unknown(
        names.keys.difference(known.get("key", ())),
        names.ids.difference(known.get("id", ())),
        names.posts.difference(known.get("post", ())),
        names.post_keys.difference(known.get("post key", ())),
    )


def _locks(names: Collection[str]) -> list[int]:
    """Numbers that stand for names, in the one order in which they are locked."""
    return sorted({crc32(name.encode(errors="replace")) - 2**31 for name in names})
