"""Lists of accounts, and how many posts a query matches: the X API's answers without users or posts."""

from __future__ import annotations

import msgspec

from bowerbird.model import Member, Page, Subject, UserList, Volume
from bowerbird.providers.items import UNREADABLE, count
from bowerbird.providers.page import REPEATED
from bowerbird.providers.text import iso
from bowerbird.providers.x.ids import PREFIX, is_key, key
from bowerbird.providers.x.reading.gather import XGathering
from bowerbird.providers.x.reading.shapes import OwnList, Stretch, own_lists, stretches


def lists(found: XGathering) -> Page:
    """The lists of an account; private ones, which only their owner's token sees, are not kept."""
    mapped: dict[str, UserList] = {}
    for raw in found.envelope.data:
        try:
            item = own_lists.read(raw)
            if not item.private:
                mapped[key(item.id)] = _list(item, found.ask.targets[0])
        except UNREADABLE as error:
            found.quarantine(Subject.WORD, raw, error)
    page = found.page(results=len(found.envelope.data), cursor=_token(found), detail=_detail(found))
    return msgspec.structs.replace(page, lists=tuple(mapped.values()))


def members_of(found: XGathering, page: Page) -> Page:
    """The page of a list's accounts, with the memberships it shows."""
    keys = [user.key for user in page.users] + sorted(filter(is_key, found.lost_keys))
    return msgspec.structs.replace(page, members=tuple(Member(found.ask.targets[0], each) for each in dict.fromkeys(keys)))


def volumes(found: XGathering) -> Page:
    """How many posts match, stretch by stretch."""
    if not found.envelope.is_list:
        raise ValueError("no list of counts")
    counted: list[Volume] = []
    for raw in found.envelope.data:
        try:
            counted.append(_volume(stretches.read(raw), found.ask.targets[0]))
        except UNREADABLE as error:
            found.quarantine(Subject.WORD, raw, error)
    page = found.page(results=len(found.envelope.data), cursor=_token(found), detail=_detail(found))
    return msgspec.structs.replace(page, volumes=tuple(counted))


def _list(item: OwnList, asked: str) -> UserList:
    owner = str(item.owner_id) if item.owner_id is not None else asked
    return UserList(
        id=PREFIX + key(item.id),
        key=key(item.id),
        owner=owner if is_key(owner) else None,
        name=item.name,
        description=item.description,
        members=count(item.member_count),
        followers=count(item.follower_count),
        created_at=iso(item.created_at),
    )


def _volume(item: Stretch, query: str) -> Volume:
    begins, ends = iso(item.start), iso(item.end)
    posts = count(item.post_count if item.tweet_count is None else item.tweet_count)
    if begins is None or ends is None or posts is None:
        raise ValueError("a count without its stretch of time")
    return Volume(query, begins, ends, posts)


def _token(found: XGathering) -> str | None:
    token = found.envelope.next_token
    return None if token == found.ask.progress.cursor else token


def _detail(found: XGathering) -> str:
    token = found.envelope.next_token
    return REPEATED if token is not None and token == found.ask.progress.cursor else ""
