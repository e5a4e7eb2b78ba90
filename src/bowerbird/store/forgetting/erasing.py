"""Deletes every row of accounts and posts: unlike a purge it leaves neither ids nor times."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.ports import Database, Row
from bowerbird.store.absences.purge import PurgeStatements, purge_posts, purge_users
from bowerbird.store.context import SaveContext
from bowerbird.store.forgetting.names import handle_names, key_names, local_name, post_names, user_names
from bowerbird.store.forgetting.payloads import redact_mentions
from bowerbird.store.forgetting.tombstones import Tombstones
from bowerbird.store.numbers import remember_numbers
from bowerbird.store.people.names import has_local_keys
from bowerbird.store.posts.attachments import media_deleted
from bowerbird.store.posts.by_id import is_same, with_media
from bowerbird.store.posts.counts import save_counts, take_counted

KINDS = "kind in ('follow', 'member')"
"""Every kind is named because the indexes of relations begin with it."""

COUNTED_ANEW = frozenset({"statistic_counts", "statistic_recounts"})
"""Tables with numbers of accounts and posts that keep them, and nothing else of them, until the statistics are counted again."""


_AT_HOME = """
select 1 from user_keys k join users u on u.user_no = k.user_no where k.service = ? and lower(u.handle) like ? limit 1
"""


class Erased(Struct):
    """How much left the store."""

    users: int = 0
    posts: int = 0
    relations: int = 0
    mentions: int = 0
    """Names taken out of what others wrote, and payloads of others that held one."""
    media: tuple[str, ...] = ()
    """Ids of pictures and films that no other post shows: their files are to be removed."""

    def add(self, other: Erased) -> None:
        self.users += other.users
        self.posts += other.posts
        self.relations += other.relations
        self.mentions += other.mentions
        self.media += other.media


class EraseStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        number, text = database.any("bigint"), database.any("text")
        self.purge = PurgeStatements(database)
        self.users = f"select user_no, id, network, handle, url from users where user_no {number}"
        self.user_keys = (
            "select k.user_no, s.service, s.network, s.name, s.base, k.key, u.handle from user_keys k "
            f"join services s on s.service = k.service join users u on u.user_no = k.user_no where k.user_no {number}"
        )
        self.former = (
            f"select u.network, f.handle from former_handles f join users u on u.user_no = f.user_no where f.user_no {number}"
        )
        self.posts = f"select post_no, id, network, url from posts where post_no {number}"
        self.post_keys = (
            f"select s.network, s.name, k.key from post_keys k join services s on s.service = k.service where k.post_no {number}"
        )
        self.posts_of = f"select post_no from posts where author {number}"
        self.media = f"select distinct id from media where post_no {number}"
        self.shown = with_media(database)
        self.media_files = f"delete from media_files where id {text}"
        self.mentioning = f"select distinct post_no from post_mentions where user_no {number}"
        # Statistics count whose post was answered or passed on.
        self.recount = tuple(
            "insert into statistic_recounts (number) select c.post_no from posts p cross join posts c "
            f"where p.post_no {number} and {is_same(f'c.{column}', 'p.id')}"
            for column in ("reply_to", "repost_of")
        )
        self.lists = f"select list_no from lists where owner {number}"
        self.of_lists = tuple(f"delete from {table} where list_no {number}" for table in ("list_members", "lists"))
        self.relations = tuple(f"delete from relations where {KINDS} and {end} {number}" for end in ("source", "target"))
        self.of_users = (
            *(f"delete from relation_history where {end} {number}" for end in ("source", "target")),
            *(
                f"delete from {table} where user_no {number}"
                for table in ("post_mentions", "listings", "user_tags", "list_members", "reactions", "unavailable", "user_keys",
                              "user_history", "former_handles", "post_counts", "candidates",
                              "labels", "label_samples", "audit_accounts")
            ),
            *(f"delete from results where {name} {number}" for name in ("user_no", "owner")),
            f"delete from judgements where subject = 'user' and id in (select id from users where user_no {number})",
            f"delete from judgement_history where id in (select id from users where user_no {number})",
            f"delete from deletions where subject = 'user' and id in (select id from users where user_no {number})",
            f"delete from users where user_no {number}",
        )  # fmt: skip
        self.of_posts = (
            f"delete from judgements where subject = 'post' and id in (select id from posts where post_no {number})",
            f"delete from deletions where subject = 'post' and id in (select id from posts where post_no {number})",
            *(
                f"delete from {table} where post_no {number}"
                for table in ("post_keys", "post_tags", "post_cashtags", "post_mentions", "media", "post_history",
                              "post_versions", "reactions", "reaction_listings", "sightings", "keyword_posts", "results",
                              "word_study_posts", "word_study_labels", "posts")
            ),
        )  # fmt: skip


async def names_of(s: SaveContext, sql: EraseStatements, users: Collection[int], posts: Collection[int]) -> set[str]:
    """Every name under which these accounts and posts are known."""
    names: set[str] = set()
    for row in await s.fetch_in(sql.users, users):
        names |= user_names(row["network"], row["id"], row["handle"], row["url"])
    keys = await s.fetch_in(sql.user_keys, users)
    names |= {key_names(row["network"], row["name"], row["key"])[0] for row in keys}
    names |= {local_name(row["network"], row["name"], row["handle"]) for row in keys if await _is_local(s, row)}
    names |= {each for row in await s.fetch_in(sql.former, users) for each in handle_names(row["network"], row["handle"])}
    written = [*posts, *(row["post_no"] for row in await s.fetch_in(sql.posts_of, users))]
    for row in await s.fetch_in(sql.posts, written):
        names |= post_names(row["id"], row["url"])
    return names | {key_names(row["network"], row["name"], row["key"])[1] for row in await s.fetch_in(sql.post_keys, written)}


async def _is_local(s: SaveContext, key: Row) -> bool:
    """Whether an account is at home on a server that knows it by a key: its handle ends with the server's address, or with a name
    that nothing in the store tells, where no handle there ends with that address."""
    if not has_local_keys(key["network"]) or not key["handle"]:
        return False
    host, domain = urlsplit(key["base"]).netloc.lower(), key["handle"].partition("@")[2].lower()
    return domain in ("", host) or not await s.tx.fetch(_AT_HOME, key["service"], f"%@{host}")


async def erase(
    s: SaveContext, sql: EraseStatements, tombstones: Tombstones, users: Collection[int], posts: Collection[int]
) -> Erased:
    """Empties these as a purge does, with all copies that others carry, then deletes the rows themselves."""
    await remember_numbers(s.tx, s.database)
    erased = await _erase_users(s, sql, tombstones, users)
    erased.add(await _erase_posts(s, sql, posts))
    await save_counts(s)
    return erased


async def _erase_users(s: SaveContext, sql: EraseStatements, tombstones: Tombstones, users: Collection[int]) -> Erased:
    known = {row["user_no"]: row["id"] for row in await s.fetch_in(sql.users, users)}
    if not known:
        return Erased()
    erased = await _erase_posts(s, sql, [row["post_no"] for row in await s.fetch_in(sql.posts_of, known)])
    mentioning = [row["post_no"] for row in await s.fetch_in(sql.mentioning, known)]
    await redact_mentions(s, sql.purge, tombstones, mentioning)
    await s.execute_in(sql.purge.recount, mentioning)
    await purge_users(s, sql.purge, known, "forgotten")
    lists = [row["list_no"] for row in await s.fetch_in(sql.lists, known)]
    for statement in sql.of_lists:
        await s.execute_in(statement, lists)
    erased.users, erased.mentions = len(known), len(mentioning)
    erased.relations = sum([await s.execute_in(statement, known) for statement in sql.relations])
    for statement in sql.of_users:
        await s.execute_in(statement, known)
    return erased


async def _erase_posts(s: SaveContext, sql: EraseStatements, posts: Collection[int]) -> Erased:
    known = [row["post_no"] for row in await s.fetch_in(sql.posts, posts)]
    if not known:
        return Erased()
    media = [row["id"] for row in await s.fetch_in(sql.media, known)]
    for statement in sql.recount:
        await s.execute_in(statement, known)
    await purge_posts(s, sql.purge, known)
    await take_counted(s, known)
    for statement in sql.of_posts:
        await s.execute_in(statement, known)
    await media_deleted(s)
    shown = {row["id"] for row in await s.fetch_in(sql.shown, media)}
    unshown = sorted(set(media) - shown)
    await s.execute_in(sql.media_files, unshown)
    return Erased(posts=len(known), media=tuple(unshown))
