"""What a world is made from: one seed and a few proportions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.errors import UserError

DAY = 86_400_000
"""One day in milliseconds: the world counts time in whole milliseconds since the epoch."""
NEVER = 1 << 62
FASTEST = 10_000
USUAL_SPREAD = 1.266
"""The top 2.2 % of all accounts, 5.5 % of those who write, then write 37 % of the posts."""
PUBLISHED_SPREAD = 1.85
"""As TwitterEcho's data: of those who write at least twice in two weeks, the top 2.2 % write 37 % of the posts (Oliveira 2011,
section 3.3.4)."""
MOST_ACCOUNTS = 1 << 18
"""A Mastodon id must carry its author: 16 bits of it below the time and 2 in it."""


def to_ms(when: datetime) -> int:
    return to_micros(when) // 1000


def from_ms(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


class PlannedEvent(Struct, frozen=True, kw_only=True):
    """An event that certainly happens, beside those that are drawn by chance."""

    begins: datetime
    scale: timedelta = timedelta(hours=5)
    """Half of its posts are written within 1.3 times this span, 95 % within 4.2 times."""
    posts: int
    """How many are drawn; of people of other communities 15 % are kept."""
    town: int = 0
    """The community that it happens in."""


class WorldSettings(Struct, frozen=True, kw_only=True):
    """The same settings always make the same world."""

    seed: int = 1
    accounts: int = 20_000
    start: datetime = datetime(2026, 1, 5, tzinfo=UTC)
    """Day 0. Full activity exists from `warm` days earlier; older posts are each account's own history."""
    silent: float = 0.6
    """Share of accounts that do not write."""
    posts_per_day: float = 1.5
    """Mean over all accounts, silent ones included."""
    spread: float | None = None
    """How unevenly those who write write: the standard deviation of the logarithm of their rates, which then lie at even
    distances, so that small worlds are as skewed as large ones. None: drawn by chance and milder (`USUAL_SPREAD`), for worlds in
    which many shall write within minutes."""
    likes_per_post: float = 1.5
    following: float = 30.0
    """Mean number of accounts an account follows."""
    reticent: float = 0.0
    """Share of accounts that show nearly all their posts to their followers alone, on networks that ask."""
    celebrity: float = 0.0
    """Share of all choices whom to follow that fall on account 0: the more, the longer the list of its followers."""
    history: timedelta = timedelta(days=60)
    """Median time for which writers have written before the world starts."""
    longest_history: int = 6_000
    warm: int = 9
    horizon: timedelta = timedelta(days=180)
    """How long after `start` the follow graph and the accounts' fates go on changing."""
    until: datetime | None = None
    """Time stands still in the world from then on, so that crawls at different times find the same; limits go on."""
    mixed: bool = False
    """Accounts have a nationality, live at home or abroad, and fill in their profiles as carelessly as people do."""
    planned: PlannedEvent | None = None
    pace: float = 1.0
    """How many times as fast as the clock the world's time runs from `since` on; limits keep the clock's time."""
    since: datetime | None = None
    """When the world's time begins to run at its own pace; `start` if nothing is said."""

    def __post_init__(self) -> None:
        if not 2 <= self.accounts <= MOST_ACCOUNTS:
            raise UserError(
                f"A simulated world has 2 to {MOST_ACCOUNTS:,} accounts, not {self.accounts:,}", "choose a number in between."
            )
        if not 0 <= self.silent < 1:
            raise UserError(f"The silent share of a simulated world must be at least 0 and below 1, not {self.silent}.")
        if not 0 <= self.celebrity < 1:
            raise UserError(f"The celebrity's share in a simulated world must be at least 0 and below 1, not {self.celebrity}.")
        if not 0 < self.pace <= FASTEST:
            raise UserError(f"A simulated world's pace must be above 0 and at most {FASTEST:,}, not {self.pace}.")

    def moment(self, now: datetime) -> datetime:
        """The world's time when a clock shows `now`."""
        if self.pace != 1.0 and now > self.paced_from:
            now = self.paced_from + (now - self.paced_from) * self.pace
        return now if self.until is None else min(now, self.until)

    def shown_at(self, ms: int) -> datetime | None:
        """What the clock shows when the world's time is first `ms`; None if time stands still before."""
        when = from_ms(ms)
        if self.until is not None and when > self.until:
            return None
        if self.pace == 1.0 or when <= self.paced_from:
            return when
        # Rounded up: a clock that shows this must have reached the moment.
        return self.paced_from + (when - self.paced_from) / self.pace + timedelta(microseconds=1)

    @property
    def paced_from(self) -> datetime:
        return self.since or self.start

    @property
    def start_ms(self) -> int:
        """Midnight UTC of day 0."""
        return to_ms(self.start) // DAY * DAY

    @property
    def warm_ms(self) -> int:
        return self.start_ms - self.warm * DAY
