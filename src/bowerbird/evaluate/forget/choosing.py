"""Who and what leaves in each of the ways, and what would tell of it afterwards."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from bowerbird.evaluate.forget.searching import Secret, secrets_of, texts_of
from bowerbird.evaluate.laboratory import SERVICE, Laboratory
from bowerbird.ports import Database, Transaction
from bowerbird.simulated.world.settings import to_ms
from bowerbird.store.context import SaveContext
from bowerbird.store.people.names import id_for

_BUSIEST = """
select p.author, min(coalesce(k.key, u.id)) as name, min(u.handle) as handle, min(u.id) as id
from posts p join users u on u.user_no = p.author left join user_keys k on k.user_no = p.author
where p.deleted_at is null and p.text is not null group by p.author order by count(*) desc, p.author limit ?
"""
_PASSED_ON = """
select p.post_no, coalesce(k.key, p.id) as name,
    (select count(*) from posts c where c.repost_of = p.id or c.quote_of = p.id) as copies
from posts p left join post_keys k on k.post_no = p.post_no
where p.author = ? and p.deleted_at is null and p.text is not null order by copies desc, p.post_no limit ?
"""
_MOST_POSTS = 12
"""Of one author that are deleted."""


class Leaving(Struct, kw_only=True):
    """Numbers of the store, and what stands for them in the world."""

    forgotten: list[int]
    """Accounts that are forgotten on request."""
    listed: list[str]
    """Accounts on an opt-out list, as one writes them there."""
    suspended: list[int]
    """Accounts by their number in the world; the same for those that follow."""
    signing: list[int]
    """Accounts that show the sign of not wishing to be collected."""
    deleted: list[int]
    """Posts by their number in the world."""
    keys: list[str]
    """The same posts as the service calls them."""
    secrets: list[Secret]
    media: list[str]
    """Ids of pictures and films that nobody else shows."""


async def choose(database: Database, laboratory: Laboratory, each: int) -> Leaving:
    """`each`: how many leave in each way, those who write most; of as many others posts are deleted, those first that are passed
    on. A text that somebody who stays wrote as well tells nothing."""
    async with database.reading() as tx:
        people = await tx.fetch(_BUSIEST, 5 * each)
        names = _accounts(laboratory)
        forgotten, listed, suspended, signing, others = (people[start::5] for start in range(5))
        posts = [row for author in others for row in await tx.fetch(_PASSED_ON, author["author"], _MOST_POSTS)]
        gone = [row["author"] for row in (*forgotten, *listed)]
        emptied = [row["author"] for row in (*suspended, *signing)] if _has_signs(laboratory) else []
        emptied = emptied or [row["author"] for row in suspended]
        secrets = {*await secrets_of(tx, gone), *await texts_of(tx, emptied, [row["post_no"] for row in posts])}
        known = _posts(laboratory, [names[row["name"]] for row in others])
        found = [row for row in posts if row["name"] in known]
        return Leaving(
            forgotten=[row["author"] for row in forgotten],
            listed=[str(row["id"]) for row in listed],
            suspended=[names[row["name"]] for row in suspended],
            signing=[names[row["name"]] for row in signing] if _has_signs(laboratory) else [],
            deleted=[known[row["name"]][0] for row in found],
            keys=[known[row["name"]][1] for row in found],
            secrets=sorted(secrets),
            media=await _media(database, tx, [*gone, *emptied], [row["post_no"] for row in posts]),
        )


def _has_signs(laboratory: Laboratory) -> bool:
    return laboratory.service.dialect.name in ("bluesky", "mastodon")


def _accounts(laboratory: Laboratory) -> dict[str, int]:
    """The accounts of the world by their keys, and by the ids that a store gives them."""
    network = _network(laboratory)
    return {name: number for number, key in enumerate(laboratory.keys()) for name in (key, id_for(network, SERVICE, key))}


def _posts(laboratory: Laboratory, authors: Collection[int]) -> dict[str, tuple[int, str]]:
    """Number and key of the posts of some authors, by their keys and by the ids that a store gives them."""
    world, network, now = laboratory.service.world, _network(laboratory), to_ms(laboratory.clock.now())
    found: dict[str, tuple[int, str]] = {}
    for row in (row for author in authors for row in world.timeline(author, now)):
        key = laboratory.service.dialect.post_key(row.number)
        found |= dict.fromkeys((key, id_for(network, SERVICE, key)), (row.number, key))
    return found


def _network(laboratory: Laboratory) -> str:
    name = laboratory.service.dialect.name
    return "x" if name == "twitter_v1" else name


async def _media(database: Database, tx: Transaction, authors: Sequence[int], posts: Sequence[int]) -> list[str]:
    s = SaveContext(tx=tx, database=database, at=0)
    number = database.any("bigint")
    written = await s.fetch_in(f"select post_no from posts where author {number}", authors)
    gone = {*posts, *(row["post_no"] for row in written)}
    shown = await tx.fetch("select id, post_no from media")
    others = {row["id"] for row in shown if row["post_no"] not in gone}
    return sorted({row["id"] for row in shown if row["post_no"] in gone} - others)
