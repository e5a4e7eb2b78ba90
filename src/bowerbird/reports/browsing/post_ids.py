"""The ids of the stored posts of one service, in their order, with a count of those that are not passed on and why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import Service
from bowerbird.ports import Database
from bowerbird.reports.seeds.chosen import is_askable, service_row
from bowerbird.reports.texts import plain
from bowerbird.store.people.names import has_local_keys, key_in

_BATCH = 10_000
# Few accounts opt out, and their index has only them.
_POSTS = f"""
select p.post_no, {{key}} as key, p.kind, case when p.deleted_at is not null then {{deleted}}
    when p.author in (select u.user_no from users u where u.opts_out = 1) then {{opted_out}} else {{open}} end as fate
from posts p where p.post_no > ? and p.network = ? order by p.post_no limit {_BATCH}
"""
# A service may know one post under two keys, and one is enough.
_KEY = "(select min(k.key) from post_keys k where k.post_no = p.post_no and +k.service = {service})"
_OPEN, _DELETED, _OPTED_OUT = 0, 1, 2


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
    if row is None:
        raise UserError(f"the store holds nothing of {service.base}, so it has no ids of it")
    network = row["network"]
    key = _KEY.format(service=int(row["service"])) if has_local_keys(network) else "p.id"
    sql = _POSTS.format(key=key, open=_OPEN, deleted=_DELETED, opted_out=_OPTED_OUT)
    after = 0
    while True:
        async with database.reading() as tx:
            found = await tx.fetch_columns(sql, after, network)
        if not found:
            return
        numbers, keys, kinds, fates = found
        after = numbers[-1]
        yield _batch(keys, kinds, fates, network, counted)


def _batch(keys: Sequence[Any], kinds: Sequence[Any], fates: Sequence[int], network: str, counted: PostIds) -> list[str]:
    askable = {kind for kind in set(kinds) if is_askable(network, plain(kind))}
    rows = zip(keys, kinds, fates, strict=True)
    named = [plain(key) for key, kind, fate in rows if fate == _OPEN and key is not None and kind in askable]
    if not has_local_keys(network):
        named = [key for known in named if (key := key_in(network, known)) is not None]
    found = named if is_real("".join(named)) else [key for key in named if is_real(key)]
    counted.deleted += fates.count(_DELETED)
    counted.opted_out += fates.count(_OPTED_OUT)
    counted.not_by_id += fates.count(_OPEN) - len(named)
    counted.unreal += len(named) - len(found)
    counted.ids += len(found)
    return found


def is_real(key: str) -> bool:
    """Of all white space only the plain blank counts as printable."""
    return key.isprintable() and " " not in key
