"""What the demo's crawl found, against what there was to find."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.cli.demo_stage.scene import SERVICE, Scene
from bowerbird.clock import EPOCH
from bowerbird.ports import Database, Transaction

_OURS = "join services s on s.service = k.service and s.name = ?"
"""Others in the store have keys of their own."""


class Found(Struct, frozen=True, kw_only=True):
    """The demo's result next to the truth."""

    profiles: int
    profiles_there: int
    posts: int
    posts_there: int
    """Of the seeds, visible to any visitor, and still there at the end."""
    opted_out: int
    """Accounts that asked not to be collected and were left alone; their posts count nowhere."""
    closed: int
    """Other seeds that are protected, suspended or gone: there is nothing to see."""
    refused: int
    calls: int
    quota: dict[str, tuple[int, int]]
    """By throttle of the server: calls used and calls allowed in the windows that were opened."""


async def compare(scene: Scene, database: Database, now: datetime) -> Found:
    """Asks the world what there was, and the database what was kept."""
    async with database.reading() as tx:
        posts, users, opted_out = await _posts(tx), await _users(tx), await _users(tx, "and u.opts_out = 1")
    service, dialect = scene.service, scene.service.dialect
    there = [dialect.account_key(account) for account in scene.seeds if service.truth.is_available(account, now)]
    shy = {dialect.account_key(account) for account in scene.seeds} & opted_out
    open_keys = [key for key in there if key not in shy]
    wanted = {post for key in open_keys for post in _to_find(scene, key, now)}
    audit = service.audit()
    return Found(
        profiles=sum(key in users for key in open_keys),
        profiles_there=len(open_keys),
        posts=len(wanted & posts),
        posts_there=len(wanted),
        opted_out=len(shy),
        closed=len(scene.seeds) - len(shy) - len(open_keys),
        refused=audit["refused"],
        calls=audit["calls"],
        quota={name: (sums["used"], sums["allowed"]) for name, sums in audit["buckets"].items()},
    )


def _to_find(scene: Scene, key: str, now: datetime) -> set[str]:
    """The posts of one account that any visitor could see from the start to the end of the demo."""
    seen = scene.service.posts_to_find(key, EPOCH, scene.started_at, now)
    return {post for post, deleted_at in seen.items() if deleted_at is None or deleted_at > now}


async def _posts(tx: Transaction) -> set[str]:
    """The posts by the service's own keys; where those are part of the id, they are not kept apart."""
    keyed = {row["key"] for row in await tx.fetch(f"select k.key from post_keys k {_OURS}", SERVICE)}
    return keyed or {_key(row["id"]) for row in await tx.fetch("select id from posts")}


def _key(identity: str) -> str:
    """The service's key within an id; Bluesky's ids are keys themselves."""
    return identity if identity.startswith(("did:", "at://")) else identity.rpartition(":")[2]


async def _users(tx: Transaction, condition: str = "") -> set[str]:
    seen = f"where u.seen_at is not null {condition}"
    if await tx.fetch_one(f"select 1 as there from user_keys k {_OURS} limit 1", SERVICE):
        rows = await tx.fetch(f"select k.key from user_keys k {_OURS} join users u on u.user_no = k.user_no {seen}", SERVICE)
        return {row["key"] for row in rows}
    return {_key(row["id"]) for row in await tx.fetch(f"select u.id from users u {seen}")}
