"""What a running crawl has done so far, in memory, for those who watch it."""

from __future__ import annotations

from collections import Counter, deque
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.errors import Failure
from bowerbird.flows.flow import Size
from bowerbird.model import CallReport, Outcome
from bowerbird.model.wording import told

_RECENT = timedelta(seconds=30)
_NAMED = 5
NOTHING = Size()
_SILENT = (Outcome.UNANSWERED, Outcome.OVERLOADED)


class Tally:
    """Counts since the start of this process; the totals of a crawl are in its row."""

    def __init__(self, started_at: datetime, before: Size = NOTHING) -> None:
        """`before`: how large the crawl was then."""
        self.started_at = started_at
        self.elsewhere = before
        """What earlier runs and other workers of the same crawl brought."""
        self.ran_before = timedelta(0)
        """How long the crawl was run before this process."""
        self.questions = 0
        """Calls that this process made before the crawl began; they count as made elsewhere."""
        self.calls = 0
        self.items = 0
        self.users = 0
        self.posts = 0
        self.results = 0
        self.fenced = 0
        self.given_up = 0
        self.left_alone = 0
        """Seeds that asked not to be collected."""
        self.first_left_alone: tuple[str, ...] = ()
        self.not_offered: list[Failure] = []
        """What servers turned out not to offer, each as a sentence."""
        self.by_facet: Counter[str] = Counter()
        self.items_by_facet: Counter[str] = Counter()
        self.by_outcome: Counter[Outcome] = Counter()
        self.window_opens: datetime | None = None
        self.paced_until: datetime | None = None
        """Until when the crawl's own pace holds its calls back."""
        self.next_due: datetime | None = None
        self.trouble: str = ""
        self.trouble_at: datetime | None = None
        self.down: dict[str, tuple[datetime, str]] = {}
        """By service that does not answer: since when, and what came instead."""
        self.activity: str = ""
        """What a part does besides the calls, in words."""
        self._recent: deque[tuple[datetime, int, int]] = deque()
        """When, how many calls, how many new items."""

    def settled(self, report: CallReport, now: datetime) -> None:
        """One call has ended: a question with its answer, or a live connection with nothing more to bring."""
        self._add(report, 1, now)
        self.given_up += report.given_up
        self.left_alone += len(report.left_alone)
        self.first_left_alone = (*self.first_left_alone, *report.left_alone)[:_NAMED]
        self.by_outcome[report.outcome] += 1
        self.window_opens = None
        if report.not_offered:
            self.not_offered.append(report.not_offered)
        if report.outcome is not Outcome.OK and not report.outcome.is_about_target:
            self.blocked(f"{report.facet}: {told(report.outcome, report.detail)}", now)
        if report.outcome in _SILENT:
            self.down.setdefault(report.service, (now, report.detail))
        else:
            self.down.pop(report.service, None)

    def asked(self, calls: int) -> None:
        """Calls made before the crawl began: what its servers are, and whether they take its credentials."""
        self.questions += calls
        self.elsewhere = structs.replace(self.elsewhere, calls=self.elsewhere.calls + calls)

    def heard(self, report: CallReport, now: datetime) -> None:
        """What a live connection has brought since the last time."""
        self._add(report, 0, now)

    def _add(self, report: CallReport, calls: int, now: datetime) -> None:
        self.calls += calls
        self.items += report.new_items
        self.users += report.new_users
        self.posts += report.new_posts
        self.results += report.results
        self.by_facet[report.facet] += calls
        self.items_by_facet[report.facet] += report.new_items
        self._recent.append((now, calls, report.new_items))
        self._trim(now)

    def size(self, *, in_all: bool = True) -> Size:
        """How large the crawl is, or only what this process brought."""
        other = self.elsewhere if in_all else Size()
        return Size(
            calls=other.calls + self.calls,
            items=other.items + self.items,
            users=other.users + self.users,
            posts=other.posts + self.posts,
        )

    def waits(self, window_opens: datetime | None, next_due: datetime | None) -> None:
        self.window_opens = window_opens
        self.next_due = next_due

    def blocked(self, why: str, now: datetime) -> None:
        self.trouble, self.trouble_at = why, now

    def rates(self, now: datetime) -> tuple[float, float]:
        """Calls and new items per second over the last half minute."""
        self._trim(now)
        span = min(_RECENT, now - self.started_at).total_seconds() or 1.0
        return sum(calls for _, calls, _ in self._recent) / span, sum(items for _, _, items in self._recent) / span

    @property
    def last_at(self) -> datetime | None:
        """When the last call of the last half minute ended."""
        return self._recent[-1][0] if self._recent else None

    def _trim(self, now: datetime) -> None:
        while self._recent and now - self._recent[0][0] > _RECENT:
            self._recent.popleft()
