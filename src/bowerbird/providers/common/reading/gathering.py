"""One answer while it is being read: what every provider's reader shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from typing import Any, Protocol, TypeVar

import msgspec

from bowerbird.model import (
    Answer,
    Ask,
    Facet,
    Outcome,
    Page,
    Reaction,
    ReactionKind,
    Reading,
    Relation,
    RelationKind,
    Side,
    Subject,
    User,
)
from bowerbird.providers.common.reading import headers
from bowerbird.providers.common.reading.amounts import MOST_LOST, check_values, most_items, most_results, most_values
from bowerbird.providers.common.reading.items import UNREADABLE, Harvest, identified, shortened
from bowerbird.providers.common.snowflakes import AHEAD, is_credible, is_number, newest, order


class Keyed(Protocol):
    """What a service lists under an id."""

    @property
    def key(self) -> str: ...


G = TypeVar("G", bound="Gathering")
K = TypeVar("K", bound=Keyed)

REPEATED = "the server answered the same position again; the listing is taken as ended"
OVERFULL = "the server listed far more than was asked for; the rest was left out and the listing is taken as ended"
BROKEN_OFF = (REPEATED, OVERFULL)
LOOKS = 3
"""So many empty answers to a whole batch are believed: one may be the silent failure of a server."""


class Gathering(ABC):
    """Maps items into a harvest one by one and remembers which listed items were lost on the way."""

    id_names: tuple[str, ...] = ("id",)
    """Where an item that could not be mapped may still name itself."""

    def __init__(self, ask: Ask, facet: Facet, answer: Answer) -> None:
        self.ask, self.facet, self.answer = ask, facet, answer
        self.harvest = Harvest(most_items(ask, facet), most_results(ask, facet), MOST_LOST)
        self.lost_keys: set[str] = set()
        """Ids of items that were listed but not mapped: they exist, so they are neither gone nor unfollowed."""
        self.is_sure = True
        """False once an item could not even be identified."""
        self.about: str | None = None
        """Key of the one account listed, when one was asked for."""
        self.is_doubtful = False
        """True when an empty answer is not believed yet."""

    @abstractmethod
    def user(self, raw: bytes) -> User:
        """One account, mapped; raises one of `UNREADABLE` when it cannot be."""

    def check(self) -> None:
        """Raises ValueError for an answer that would become more objects than was asked for could fill."""
        check_values(self.answer.body, most_values(self.ask, self.facet))

    def lose(self, subject: Subject, raw: bytes, error: Exception) -> None:
        self.harvest.quarantine(subject, raw, error)
        key = identified(raw, *self.id_names)
        self.is_sure = self.is_sure and key is not None
        if key is not None:
            self.lost_keys.add(key)

    def users(self, raws: Iterable[bytes]) -> list[User]:
        mapped: list[User] = []
        for raw in raws:
            try:
                mapped.append(self.user(raw))
            except UNREADABLE as error:
                self.lose(Subject.USER, raw, error)
        if len(mapped) == len(self.ask.targets) == 1 and self.facet.is_lookup:
            self.about = mapped[0].key
        return mapped

    def numbers(self, raws: Iterable[bytes | msgspec.Raw]) -> list[str]:
        """The ids of a bare list, as numbers or as texts; what is no number is set aside alone."""
        keys: list[str] = []
        for raw in map(bytes, raws):
            key = raw.strip(b'"').decode("ascii", "replace")
            if is_number(key):
                keys.append(key)
            else:
                self.harvest.quarantine(Subject.USER, raw, ValueError("an id is not a number"))
        return keys

    def listed(self, raws: Iterable[bytes], read: Callable[[bytes], K], tell: Callable[[K, bytes], object]) -> list[str]:
        """Tells of those posts that are new to us and answers the ids of everything listed that has one."""
        keys: list[str] = []
        for raw in raws:
            try:
                post = read(raw)
                if not self.is_known(post.key):
                    tell(post, raw)
                keys.append(post.key)
            except UNREADABLE as error:
                self.lose(Subject.POST, raw, error)
        return keys

    def is_known(self, key: str) -> bool:
        """Whether an incremental listing has come down to what an earlier visit listed."""
        known = self.ask.progress.newest
        return self.facet.is_incremental and known is not None and order(key) <= order(known)

    def latest_key(self, at: datetime) -> int | None:
        """The highest number that a post can have at that time, where the network's numbers tell their time."""
        return None

    def newest(self, keys: Iterable[str]) -> str | None:
        """The newest of these keys that can be true: one of a time that has not come would hide everything after it."""
        keys, latest = list(keys), self.latest_key(self.answer.received_at + AHEAD)
        highest = newest(keys)
        if highest is None or is_credible(highest, latest):
            return highest
        return newest(key for key in keys if is_credible(key, latest))

    def lose_missing(self, keys: set[str]) -> None:
        """Targets missing from a batch are gone, unless an item that could not be read may be one of them: it has no name, or
        a name that nobody asked for.

        An empty answer to a whole batch is believed when it came several times, or when a target is asked for alone; one that is
        about nobody who was asked for, never.
        """
        targets = self.ask.targets
        missing = [key for key in targets if key not in keys and key.casefold() not in keys and key not in self.lost_keys]
        if keys and len(missing) == len(targets) and not any(key.startswith("@") for key in targets):
            raise ValueError("an answer about others than those asked for")
        if len(targets) > 1 and len(missing) == len(targets) and not self.lost_keys and self.ask.looks + 1 < LOOKS:
            self.is_doubtful = True
            return
        if self.is_sure and self.lost_keys <= set(targets):
            for key in missing:
                self.harvest.lose(self.facet.subject, key, Outcome.NOT_FOUND, is_vague=True)

    def edges(self, keys: Iterable[str]) -> tuple[Relation, ...]:
        """The relations between the account asked about and those listed, by the side of the facet."""
        target, keys = self.ask.targets[0], islice(keys, self.harvest.most_results)
        if self.facet.side is Side.FOLLOWERS:
            return tuple(Relation(RelationKind.FOLLOW, key, target) for key in keys)
        return tuple(Relation(RelationKind.FOLLOW, target, key) for key in keys)

    def reactions(self, kind: ReactionKind, keys: Iterable[str]) -> tuple[Reaction, ...]:
        """What the listed accounts did to the post asked about, in the order of the list."""
        return tuple(Reaction(kind, self.ask.targets[0], key) for key in dict.fromkeys(islice(keys, self.harvest.most_results)))

    def page(self, *, results: int, cursor: str | None = None, head: str | None = None, detail: str = "") -> Page:
        found = self.harvest
        if results > found.most_results or found.is_full:
            results, cursor, detail = min(results, found.most_results), None, OVERFULL
        return Page(
            users=tuple(found.users.values()),
            posts=tuple(found.posts.values()),
            along=frozenset(found.along),
            gone=tuple(found.gone.values()),
            broken=found.broken.all(),
            results=results,
            about=self.about,
            cursor=cursor,
            is_whole=detail not in BROKEN_OFF and self.is_sure,
            is_doubtful=self.is_doubtful,
            head=head,
            detail=f"none of {len(self.ask.targets)} was listed; they are asked for again" if self.is_doubtful else detail,
        )


def read_page(gathering: G, reader: Callable[[G], Page], said: Reading | None) -> Page:
    """The page of a good answer, with what the server said of its limits; never raises."""
    answer = gathering.answer
    wait = headers.retry_after(answer)
    try:
        gathering.check()
        page = _within(reader(gathering), gathering.harvest.most_results)
    except UNREADABLE as error:
        start = answer.body[:80].decode(errors="replace")
        unread = shortened(f"cannot read {len(answer.body)} bytes ({error}): {start}")
        return Page(outcome=Outcome.UNREADABLE, reading=said, retry_after=wait, detail=unread)
    return msgspec.structs.replace(page, reading=said, retry_after=wait)


def _within(page: Page, most: int) -> Page:
    """The page with no more of what it lists than could be asked for: each may name an account that nobody has heard of."""
    listed = {"relations": page.relations, "reactions": page.reactions, "members": page.members}
    if all(len(each) <= most for each in listed.values()):
        return page
    cut: dict[str, Any] = {name: each[:most] for name, each in listed.items()}
    return msgspec.structs.replace(page, **cut, cursor=None, is_whole=False, detail=OVERFULL)
