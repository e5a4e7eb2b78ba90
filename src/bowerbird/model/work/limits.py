"""Facets with their limits, and what opens a bucket."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct, field

from bowerbird.model.kinds import Side, Subject
from bowerbird.model.networks import TRAITS
from bowerbird.model.web_addresses import origin


class WindowKind(StrEnum):
    ALIGNED = "aligned"
    """The window ends at the next multiple of its length since the epoch."""
    FIRST_CALL = "first_call"
    """The window starts with the first call after the previous one ended."""
    MONTH = "month"
    """The calendar month, UTC."""
    EVER = "ever"
    """One window that never ends."""

    @property
    def is_spread(self) -> bool:
        """Whether calls are spread over the window; nobody spreads a budget over a month."""
        return self not in (WindowKind.MONTH, WindowKind.EVER)


class Limit(Struct, frozen=True, kw_only=True):
    """One server-side limit as the provider publishes it; `bucket` is a template filled per credential."""

    bucket: str
    """Template over `{service}`, `{credential}`, `{account}`, `{app}`, `{facet}`."""
    allowance: int
    window: timedelta
    kind: WindowKind = WindowKind.ALIGNED
    per_call: int = 1
    per_result: int = 0
    """One call costs `per_call + per_result * results`; the most it may cost is charged, the rest refunded."""
    once_a_day: bool = False
    """The same result costs once per UTC day: those that `Page.billed` names and that were paid for are refunded too."""
    published: int | None = None
    """What the service allows, where the user allows less: then only a lower figure of the server changes the allowance."""
    is_money: bool = False
    """Counts thousandths of a dollar. No server tells of it: the allowance is the user's own word, and is raised and lowered
    with it."""
    payer: str = ""
    """Template: to whom `once_a_day` applies; empty: the owner of the bucket."""
    only_paged: bool = False
    """Counts only requests that carry a position (`max_id`, `since_id`, `min_id`, `page`)."""


class Facet(Struct, frozen=True, kw_only=True):
    """One kind of question and its limits; the table of these is the provider's contract."""

    name: str
    subject: Subject
    yields: frozenset[str]
    """What its pages carry: `users`, `posts`, `relations`, or another of `Page`'s fields."""
    objects_per_call: int = 1
    results_per_call: int = 1
    smallest_page: int = 1
    """Fewer results cannot be asked for."""
    total_results: int | None = None
    """How many items of one list the service shows at most."""
    reach: timedelta | None = None
    """How old an item may be at most to be listed, where the service says it."""
    side: Side | None = None
    is_lookup: bool = False
    """Asks for the profiles of its targets themselves; on other pages profiles only come along."""
    is_own_route: bool = False
    """Asks for its targets themselves: only its word that one of them is gone counts. What the route of a list says is missing
    is a fact about the list."""
    knows_own_only: bool = False
    """Asks a host about the accounts that it holds itself: one that it does not know, or no longer serves, may live elsewhere,
    unless this very host has shown it before."""
    falls_short: str = ""
    """What its answers leave out wherever it is asked, in words; empty: nothing that is known beforehand."""
    tells_counters: bool = False
    """The accounts it lists come with their own counters of followers and following."""
    is_incremental: bool = False
    """A revisit can ask only for what is newer than `Progress.newest`."""
    limits: tuple[Limit, ...] = ()

    @property
    def lists_own_posts(self) -> bool:
        """Lists what its target wrote, or is told: who may not read that may not read the account."""
        return self.subject is Subject.USER and self.side is None and self.is_incremental and "posts" in self.yields

    @property
    def is_paid(self) -> bool:
        """Whether asking costs money."""
        return any(limit.is_money for limit in self.limits)


class Credential(Struct, frozen=True, kw_only=True):
    """What opens a bucket, by name; the secret itself stays in the vault."""

    name: str
    provider: str
    kind: str = "user"
    """`user` or `app`: many services keep separate limits for the two."""
    account: str = ""
    app: str = ""
    servers: tuple[str, ...] = ()
    """Scheme, host and port of everyone who may see the secret; empty: the network's own API, where it has one for all."""

    @property
    def home(self) -> tuple[str, ...]:
        """The servers it belongs to; empty when it was never said and the network does not settle it."""
        return self.servers or (TRAITS[self.provider].servers if self.provider in TRAITS else ())

    def belongs_to(self, address: str) -> bool:
        return bool(place := origin(address)) and place in self.home


class Secret(Struct, frozen=True, kw_only=True):
    """The confidential part of a credential; it never prints itself."""

    name: str
    values: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, …)"

    __str__ = __repr__
