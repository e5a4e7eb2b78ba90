"""Lists of accounts, and the ids of those who reposted: answers of the classic API without profiles or posts."""

from __future__ import annotations

from msgspec import Raw, Struct

from bowerbird.model import Subject, User, UserList
from bowerbird.providers.items import UNREADABLE, Reader, count
from bowerbird.providers.page import is_number
from bowerbird.providers.text import classic
from bowerbird.providers.twitter_v1.reading.gather import TwitterGathering
from bowerbird.providers.twitter_v1.reading.shapes import NETWORK_PREFIX


class _List(Struct):
    id_str: str | None = None
    id: int | str | None = None
    user: Raw = Raw(b"")
    name: str | None = None
    description: str | None = None
    mode: str | None = None
    member_count: int | None = None
    subscriber_count: int | None = None
    created_at: str | None = None

    @property
    def key(self) -> str:
        key = self.id_str or str(self.id or "")
        if not is_number(key):
            raise ValueError("a list without an id")
        return key


_lists = Reader(_List)


def lists_of(found: TwitterGathering, raws: list[bytes]) -> tuple[UserList, ...]:
    """The lists, with their owners as users; private ones, which only their owner's token sees, are not kept."""
    mapped: dict[str, UserList] = {}
    for raw in raws:
        try:
            item = _lists.read(raw)
            if item.mode != "private":
                mapped[item.key] = _mapped(item, _owner(found, item))
        except UNREADABLE as error:
            found.quarantine(Subject.WORD, raw, error)
    return tuple(mapped.values())


def bare_users(found: TwitterGathering, keys: list[str]) -> None:
    """Accounts of which only the id is told."""
    for key in keys:
        found.add_user(User(id=NETWORK_PREFIX + key, key=key))


def _owner(found: TwitterGathering, item: _List) -> str | None:
    raw = bytes(item.user)
    return found.read_user(raw).key if raw not in (b"", b"null") else None


def _mapped(item: _List, owner: str | None) -> UserList:
    return UserList(
        id=NETWORK_PREFIX + item.key,
        key=item.key,
        owner=owner,
        name=item.name,
        description=item.description,
        members=count(item.member_count),
        followers=count(item.subscriber_count),
        created_at=classic(item.created_at),
    )
