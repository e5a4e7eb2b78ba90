"""The ids of the stored posts of one service, in their order, with a count of those that are not passed on and why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import Service
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.seeds.chosen import is_askable, service_row
from bowerbird.store.people.names import has_local_keys, key_in

_BATCH = 10_000
_POSTS = f"""
select post_no, id, kind, author, case when deleted_at is null then 0 else 1 end as is_deleted
from posts where post_no > ? and network = ? order by post_no limit {_BATCH}
"""
# A service may know one post under two keys, and one is enough.
_KEYS = "select post_no, min(key) as key from post_keys where post_no between ? and ? and +service = ? group by post_no"
_OPTED_OUT = "select user_no from users where opts_out = 1"


class PostIds(Struct):
    """How many ids there were to pass on, and how many posts have none that may be."""

    ids: int = 0
    deleted: int = 0
    opted_out: int = 0
    """Of authors who asked not to be collected."""
    not_by_id: int = 0
    """The service cannot be asked for them by id."""
    unreal: int = 0
    """No network has ids with spaces, line ends or marks that steer a terminal; a server that lies may."""


async def read_post_ids(database: Database, service: Service, counted: PostIds) -> AsyncIterator[list[str]]:
    """The ids in batches, each as the service calls the post; `counted` grows along. Memory holds one batch."""
    async with database.reading() as tx:
        row = await service_row(tx, service)
        alone = frozenset(each["user_no"] for each in await tx.fetch(_OPTED_OUT))
    if row is None:
        raise UserError(f"the store holds nothing of {service.base}, so it has no ids of it")
    after = 0
    while True:
        async with database.reading() as tx:
            posts = await tx.fetch(_POSTS, after, row["network"])
            keys = await _keys(tx, row, posts)
        if not posts:
            return
        after = posts[-1]["post_no"]
        yield _batch(posts, keys, alone, row["network"], counted)


async def _keys(tx: Transaction, service: Row, posts: Sequence[Row]) -> Mapping[int, str] | None:
    """What the service calls these posts, by number; None where the id itself tells."""
    if not has_local_keys(service["network"]):
        return None
    if not posts:
        return {}
    rows = await tx.fetch(_KEYS, posts[0]["post_no"], posts[-1]["post_no"], service["service"])
    return {row["post_no"]: row["key"] for row in rows}


def _batch(
    posts: Sequence[Row], keys: Mapping[int, str] | None, alone: frozenset[int], network: str, counted: PostIds
) -> list[str]:
    found = []
    for post in posts:
        key = key_in(network, post["id"]) if keys is None else keys.get(post["post_no"])
        if post["is_deleted"]:
            counted.deleted += 1
        elif post["author"] in alone:
            counted.opted_out += 1
        elif key is None or not is_askable(network, post["kind"]):
            counted.not_by_id += 1
        elif is_real(key):
            found.append(key)
        else:
            counted.unreal += 1
    counted.ids += len(found)
    return found


def is_real(key: str) -> bool:
    """Of all white space only the plain blank counts as printable."""
    return key.isprintable() and " " not in key
