"""Whose word counts about an account or a post, where a store holds what several services say.

On X and Weibo every service speaks for the network. On Mastodon the server in the id of an account or post is its home: its word
stands, and what others say is their view. Until the home server has spoken, the first server that told of a subject is its
witness: it speaks for its own copy, and gives way when it has been silent for a week or has said that the subject is gone. On
Bluesky content is the account's own, whoever passes it on; that something is gone is for a stream, or for its witness, to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

import msgspec

from bowerbird.model import NETWORKS, Broken, Page, Post, Subject
from bowerbird.model.networks import USER_MARKS
from bowerbird.ports import Row
from bowerbird.store.context import SaveContext
from bowerbird.store.intake.carriers import carriers, without_payloads
from bowerbird.store.people.names import has_local_keys

HOME = -1
"""What `told_by` holds, instead of a service's number, once the home server has spoken."""
FORGED = "the post is of another server than the account it is shown under"
_SILENCE = int(timedelta(days=7) / timedelta(microseconds=1))
_DEFAULT_PORTS = {"http": 80, "https": 443}


def homes_of(network: str, name: str, base: str) -> tuple[str, ...]:
    """How the ids begin that a service is at home with; nothing where no service is."""
    if not has_local_keys(network):
        return ()
    host = _host(base)
    return (f"https://{host}/", f"http://{host}/", f"{network}:{name}/") if host else (f"{network}:{name}/",)


def _host(base: str) -> str:
    try:
        parts = urlsplit(base)
        port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    except ValueError:
        return ""
    return f"{parts.hostname}{port}" if parts.hostname else ""


def is_home(s: SaveContext, known_id: str) -> bool:
    return known_id.startswith(s.origin.homes)


def teller(s: SaveContext, known_id: str) -> int | None:
    """What `told_by` becomes when the service tells of a subject; None leaves it as it is."""
    if not NETWORKS[s.origin.network].has_witnesses or (s.is_live and not s.origin.homes):
        return None
    return HOME if s.origin.homes and known_id.startswith(s.origin.homes) else s.origin.number


def tellers(s: SaveContext, known_ids: Sequence[str]) -> Sequence[int | None]:
    """The same for many."""
    if not NETWORKS[s.origin.network].has_witnesses or (s.is_live and not s.origin.homes):
        return [None] * len(known_ids)
    return [teller(s, known) for known in known_ids]


def is_first_word(s: SaveContext, known_id: str, row: Row) -> bool:
    """Whether the service takes over from another one: what differs then was no change."""
    return bool(s.origin.homes) and row["told_by"] is not None and row["told_by"] != teller(s, known_id)


_AT_HOME = f"told_by = case when told_by = {HOME} or id like ? or id like ? then {HOME}"
WITHDRAWN = f"{_AT_HOME} end"
"""What becomes of `told_by` when something is gone: the home server's word stands, after a witness's anybody may speak next."""
RETAINED = f"{_AT_HOME} else told_by end"
"""The same when somebody asks not to be collected: who shows that does not come to speak for what others told."""


def withdrawing(s: SaveContext) -> tuple[str, str]:
    """The parameters of `WITHDRAWN` and `RETAINED`."""
    return (f"{s.origin.homes[0]}%", f"{s.origin.homes[1]}%") if len(s.origin.homes) > 1 else ("", "")


def may_change(s: SaveContext, known_id: str, row: Row) -> bool:
    """Whether what the service says of a stored subject counts; otherwise it is only its view."""
    return not s.origin.homes or _speaks(s, known_id, row)


def may_end(s: SaveContext, known_id: str, row: Row) -> bool:
    """Whether the service may say that a stored subject is gone."""
    if not NETWORKS[s.origin.network].has_witnesses or (s.is_live and not s.origin.homes):
        return True
    return _speaks(s, known_id, row)


def is_forged(s: SaveContext, post: Post) -> bool:
    """Whether a service shows a post under an account of another server, or on Bluesky of another repository, than the post's
    own. Only the post's home server may do that; Mastodon takes no such post from anybody either."""
    if start := NETWORKS[s.origin.network].author_after:
        if post.id.startswith(f"{start}{post.author}/"):
            return False
        return post.id.startswith(start) and post.id.startswith(USER_MARKS, len(start))
    # Nearly all are under their own host, letter by letter.
    if not s.origin.homes or post.id.split("/", 3)[:3] == post.author.split("/", 3)[:3] or is_home(s, post.id):
        return False
    post_host, author_host = _web_host(post.id), _web_host(post.author)
    return bool(post_host and author_host) and post_host != author_host


def _web_host(known_id: str) -> str:
    """The server in an id; nothing in one that a service made up for want of a better one."""
    return _host(known_id).casefold() if known_id.startswith(("https://", "http://")) else ""


def without_forged(s: SaveContext, page: Page) -> Page:
    """The page with forged posts set aside."""
    forged = {post.id for post in page.posts if is_forged(s, post)}
    if not forged:
        return page
    refused = tuple(Broken(Subject.POST, post.raw, FORGED) for post in page.posts if post.id in forged)
    # Whoever passes one on shows it in the payload.
    kept = without_payloads((post for post in page.posts if post.id not in forged), carriers(page.posts, forged))
    return msgspec.structs.replace(page, posts=kept, broken=page.broken + refused)


async def lists_whole(s: SaveContext, table: str, number: int) -> bool:
    """Whether what the service lists of one account or post (`users`, `posts`) is all there is: other servers know a part."""
    if not s.origin.homes:
        return True
    column = "user_no" if table == "users" else "post_no"
    row = await s.tx.fetch_one(f"select id, told_by, seen_at from {table} where {column} = ?", number)
    return row is None or _speaks(s, row["id"], row)


def _speaks(s: SaveContext, known_id: str, row: Row) -> bool:
    told_by = row["told_by"]
    if told_by is None or told_by == s.origin.number or (s.origin.homes and known_id.startswith(s.origin.homes)):
        return True
    return bool(told_by != HOME and s.at - (row["seen_at"] or 0) > _SILENCE)
