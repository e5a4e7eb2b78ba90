"""Lists of accounts that users keep, and who is on them."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Member, Page, Subject, UserList
from bowerbird.providers.bluesky.reading.gather import BlueskyGathering
from bowerbird.providers.bluesky.reading.pages import listing, onward
from bowerbird.providers.bluesky.syntax import LIST, at_uri, is_did
from bowerbird.providers.items import UNREADABLE, Reader, count

_KINDS = {"curatelist": "curated", "modlist": "moderation", "referencelist": "reference"}


class _List(Struct, rename="camel"):
    uri: str
    creator: Raw
    name: str | None = None
    purpose: str | None = None
    description: str | None = None
    list_item_count: int | None = None


class _Member(Struct):
    subject: Raw


_lists = Reader(_List)
_members = Reader(_Member)


def lists(found: BlueskyGathering) -> Page:
    """The lists of an account, with their creator."""
    page = listing(found.answer.body, "lists")
    mapped: dict[str, UserList] = {}
    for raw in page.items:
        try:
            item = _lists.read(raw)
            mapped[item.uri] = _mapped(found, item)
        except UNREADABLE as error:
            found.quarantine(Subject.WORD, raw, error)
    cursor, detail = onward(found.ask.progress.cursor, page)
    whole = found.page(results=len(page.items), cursor=cursor, detail=detail)
    return msgspec.structs.replace(whole, lists=tuple(mapped.values()))


def members(found: BlueskyGathering) -> Page:
    """The accounts on a list."""
    page = listing(found.answer.body, "items")
    inner: list[bytes] = []
    for raw in page.items:
        try:
            inner.append(bytes(_members.read(raw).subject))
        except UNREADABLE as error:
            found.quarantine_listed(Subject.USER, raw, error)
    keys = [user.key for user in found.read_users(inner)] + sorted(filter(is_did, found.lost_keys))
    cursor, detail = onward(found.ask.progress.cursor, page)
    belonging = tuple(Member(found.ask.targets[0], key) for key in dict.fromkeys(keys))
    return msgspec.structs.replace(found.page(results=len(page.items), cursor=cursor, detail=detail), members=belonging)


def _mapped(found: BlueskyGathering, item: _List) -> UserList:
    uri = at_uri(item.uri)
    if uri is None or uri.collection != LIST or not uri.rkey or not is_did(uri.authority):
        raise ValueError("a list without an at-uri")
    owner = found.read_user(bytes(item.creator))
    if owner.key != uri.authority:
        raise ValueError("a list under another owner's name")
    kind = _KINDS.get((item.purpose or "").rpartition("#")[2])
    return UserList(
        id=item.uri,
        key=item.uri,
        owner=owner.key,
        kind=kind,
        name=item.name,
        description=item.description,
        members=count(item.list_item_count),
    )
