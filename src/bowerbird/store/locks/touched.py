"""Which accounts and posts a page touches, and how firmly. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum

from msgspec import Struct

from bowerbird.model import Gone, Page, Subject, User, ids_at
from bowerbird.store.context import SaveContext
from bowerbird.store.people.names import is_provisional


class Firmness(IntEnum):
    """How a page holds on to a known account while it is saved; a firmer one holds up all that are below it and itself."""

    BY_NAME = -1
    """Only named: nothing depends on the account but that its row stays, and rows vanish only where an id is a guess."""
    NAMED = 0
    """What is written about it depends on whether it is there and wants to be collected; any number of pages may do so."""
    SHOWN = 1
    """Its profile is compared and written."""
    CHANGED = 2
    """It is gone, opts out, or has its list of relations or tags compared with what is stored."""


Touched = dict[str, Firmness]


class Unknown(Struct, frozen=True):
    """Names of which the store may not know some yet."""

    keys: frozenset[str] = frozenset()
    """Of accounts, where a key means something on one service only."""
    ids: frozenset[str] = frozenset()
    """Of accounts, there alone: elsewhere an id is all that an account is known by, and the table has each once."""
    posts: frozenset[str] = frozenset()
    """Ids."""
    post_keys: frozenset[str] = frozenset()


def accounts_by_key(page: Page, gone: Sequence[Gone], owners: Mapping[str, Firmness]) -> Touched:
    """Every account that the page names by key; `owners`: those it was asked about."""
    touched: Touched = {}
    _touch(touched, (key for post in page.posts for key in post.mentions), Firmness.BY_NAME)
    _touch(touched, (each.owner for each in page.lists if each.owner), Firmness.NAMED)
    _touch(touched, (each.user for each in page.members), Firmness.BY_NAME)
    _touch(touched, (each.user for each in page.reactions), Firmness.NAMED)
    _touch(touched, (each.target for each in page.relations), Firmness.NAMED)
    # A relation is compared under the lock of one of its ends: of whose list it is, or else of who follows.
    is_list = Firmness.CHANGED in owners.values()
    _touch(touched, (each.source for each in page.relations), Firmness.NAMED if is_list else Firmness.CHANGED)
    _touch(touched, (each.source for each in page.ended), Firmness.CHANGED)
    _touch(touched, (each.user for each in page.user_tags), Firmness.CHANGED)
    _touch(touched, (each.user for each in page.withdrawn_places), Firmness.CHANGED)
    _touch(touched, (each.key for each in gone if each.subject is Subject.USER), Firmness.CHANGED)
    _touch(touched, (user.key for user in page.users), Firmness.SHOWN)
    _touch(touched, (user.key for user in page.users if user.opts_out), Firmness.CHANGED)
    for key, firmness in owners.items():
        _touch(touched, [key], firmness)
    return touched


def accounts_by_id(s: SaveContext, page: Page, by_key: Mapping[str, Firmness]) -> Touched:
    """Every account that the page names by id; where keys mean the same everywhere, also those it names by key."""
    touched: Touched = {}
    _touch(touched, (post.author for post in page.posts), Firmness.NAMED)
    _touch(touched, (user.id for user in page.users), Firmness.SHOWN)
    if s.origin.has_local_keys:
        _touch(touched, (known for user in page.users for known in addresses(user)), Firmness.SHOWN)
        return touched
    ids = {user.key: user.id for user in page.users}
    for key, firmness in by_key.items():
        if firmness > Firmness.BY_NAME:
            _touch(touched, [ids.get(key) or s.origin.id_of(key)], firmness)
    return touched


def _touch(touched: Touched, names: Iterable[str], firmness: Firmness) -> None:
    for name in names:
        if touched.get(name, Firmness.BY_NAME) <= firmness:
            touched[name] = firmness


def addresses(user: User) -> Iterator[str]:
    """Other ids under which the same account may be stored, by the web address of its profile."""
    yield from ids_at(user.id)
    if user.url and user.id in ids_at(user.url):
        yield user.url


def perhaps_unknown(s: SaveContext, page: Page, gone: Sequence[Gone], by_key: Mapping[str, Firmness]) -> Unknown:
    """What is to be looked up before anything is locked."""
    lost = {each.key for each in gone if each.subject is Subject.POST}
    posts = {post.id for post in page.posts}
    if s.is_live:
        # A copy of a post that is deleted just now is not to be kept.
        posts |= {known for post in page.posts for known in (post.repost_of, post.quote_of) if known}
    if not s.origin.has_local_keys:
        return Unknown(posts=frozenset(posts | {s.origin.id_of(key) for key in lost}))
    start = s.origin.id_of("")
    waited_for = {known.removeprefix(start) for known in _references(page) if known.startswith(start)}
    post_keys = lost | waited_for | {post.key for post in page.posts}
    ids = {user.id for user in page.users} | {post.author for post in page.posts}
    return Unknown(frozenset(by_key), frozenset(ids), frozenset(posts), frozenset(post_keys))


def _references(page: Page) -> Iterator[str]:
    for post in page.posts:
        yield from (known for known in (post.reply_to, post.quote_of) if known and is_provisional(known))


def account_names(s: SaveContext, page: Page, unknown: Unknown) -> set[str]:
    """What is locked for unknown accounts: keys, ids, and the addresses by which two servers may show the same one."""
    strangers = [user for user in page.users if user.key in unknown.keys or user.id in unknown.ids]
    named = {known for user in strangers for known in addresses(user)}
    return {f"{s.origin.number}/{key}" for key in unknown.keys} | unknown.ids | named


def post_names(s: SaveContext, unknown: Unknown) -> frozenset[str]:
    """What is locked for unknown posts: their ids, and the ids that stand for their keys until they come."""
    start = s.origin.id_of("")
    return unknown.posts | {start + key for key in unknown.post_keys}
