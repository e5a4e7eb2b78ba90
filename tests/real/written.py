"""What was written to the network, and what of it anybody may see in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

POST = "app.bsky.feed.post"
REPOST = "app.bsky.feed.repost"
LIKE = "app.bsky.feed.like"
FOLLOW = "app.bsky.graph.follow"
PROFILE = "app.bsky.actor.profile"

REASONS = {"deactivated": "deactivated", "takendown": "suspended", "deleted": "not_found"}
"""What bowerbird must call each way of being gone."""


class Account(Struct, frozen=True):
    did: str
    handle: str
    fate: str
    """`active`, `shy` (wants no strangers), or one of `REASONS`."""
    back: int = 0
    """How many records there were in all when it last came back from an absence."""
    absences: int = 0
    """How often it went."""

    @property
    def is_gone(self) -> bool:
        return self.fate in REASONS


class Record(Struct, frozen=True):
    uri: str
    cid: str
    record: dict[str, Any]

    @property
    def author(self) -> str:
        return self.uri.split("/")[2]

    @property
    def collection(self) -> str:
        return self.uri.split("/")[3]


class Written(Struct, frozen=True, dict=True):
    """The protocol of one filling."""

    accounts: list[Account]
    records: list[Record]
    deleted: list[str]
    password: str

    @classmethod
    def of(cls, answer: Any) -> Written:
        return msgspec.convert(answer, cls)

    @cached_property
    def gone(self) -> dict[str, str]:
        """The reason for each account that is not to be had."""
        return {account.did: REASONS[account.fate] for account in self.accounts if account.is_gone}

    @cached_property
    def shy(self) -> frozenset[str]:
        return frozenset(account.did for account in self.accounts if account.fate == "shy")

    @cached_property
    def open(self) -> list[str]:
        """Accounts whose timelines and lists may be asked for."""
        return [account.did for account in self.accounts if account.fate == "active"]

    def kept(self, collection: str) -> Iterator[Record]:
        """Records of a kind that were not taken back, gone accounts' too."""
        taken_back = self._taken_back
        return (each for each in self.records if each.collection == collection and each.uri not in taken_back)

    def visible(self, collection: str) -> Iterator[Record]:
        return (each for each in self.kept(collection) if each.author not in self.gone)

    @cached_property
    def posts(self) -> dict[str, Record]:
        """Posts that anybody may see."""
        return {each.uri: each for each in self.visible(POST)}

    @cached_property
    def reposts(self) -> dict[str, Record]:
        """Reposts of posts that anybody may see: an AppView shows no others."""
        return {each.uri: each for each in self.visible(REPOST) if each.record["subject"]["uri"] in self.posts}

    @cached_property
    def every_post(self) -> list[str]:
        """The at-uri of each post ever written."""
        return [each.uri for each in self.records if each.collection == POST]

    @cached_property
    def profiles(self) -> dict[str, dict[str, Any]]:
        return {each.author: each.record for each in self.kept(PROFILE)}

    @cached_property
    def follow_records(self) -> set[tuple[str, str]]:
        """Who follows whom by the records of the follower, whatever became of either."""
        return {(each.author, each.record["subject"]) for each in self.kept(FOLLOW)}

    @cached_property
    def follows(self) -> set[tuple[str, str]]:
        """Who follows whom, as far as both can be seen."""
        return {pair for pair in self.follow_records if self.gone.keys().isdisjoint(pair)}

    @cached_property
    def bygone(self) -> frozenset[str]:
        """What accounts that were gone for a while had written before; nobody streams it again when they come back."""
        back = {account.did: account.back for account in self.accounts}
        return frozenset(each.uri for place, each in enumerate(self.records) if place < back[each.author])

    @cached_property
    def erased(self) -> frozenset[str]:
        """Accounts that were deleted: a host takes even their old events out of its stream."""
        return frozenset(account.did for account in self.accounts if account.fate == "deleted")

    @cached_property
    def bonds(self) -> Counter[tuple[str, str]]:
        """How often each account followed each other one, by all the records it ever made."""
        return Counter((each.author, each.record["subject"]) for each in self.records if each.collection == FOLLOW)

    @cached_property
    def tombs(self) -> dict[str, str]:
        """The author of each post and repost that was taken back."""
        kinds = (f"/{POST}/", f"/{REPOST}/")
        return {uri: uri.split("/")[2] for uri in self.deleted if any(kind in uri for kind in kinds)}

    @cached_property
    def _taken_back(self) -> frozenset[str]:
        return frozenset(self.deleted)
