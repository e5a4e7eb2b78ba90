"""What a view of the completeness ledger comes to: sums, and the lines that matter most."""

from __future__ import annotations

from collections import defaultdict
from heapq import nlargest, nsmallest

from bowerbird.reports.completeness.entries import Entry, Total
from bowerbird.reports.completeness.lines.days import PostSums, posts_of

Rank = tuple[int, bool, int]


def rank(entry: Entry) -> Rank:
    """How much a line lacks, to compare it with others."""
    return entry.likely, entry.high is None, entry.high or 0


class ViewSums:
    """Takes the lines of one view one by one; memory holds the sums and a few lines."""

    def __init__(self, view: str, top: int) -> None:
        """`top`: how many lines to keep."""
        self.top = top
        self._view = view
        self._totals: defaultdict[str, Total] = defaultdict(Total)
        self._kept: list[Entry] = []
        self.days: list[Entry] = []
        """All lines of the view by day: there are never many."""

    def add(self, entry: Entry) -> None:
        self._totals[entry.items].add(entry)
        self._kept.append(entry)
        if self._view == "day":
            self.days.append(entry)
        if len(self._kept) >= 2 * self.top + 100:
            self._kept = self.lines()

    def add_alike(self, entry: Entry, times: int) -> None:
        """Adds so many lines that nobody needs to see."""
        self._totals[entry.items].add(entry, times)

    def least(self) -> Rank | None:
        """What a line must lack more than, to be kept; None: any will be."""
        self._kept = self.lines()
        return rank(self._kept[-1]) if len(self._kept) >= self.top > 0 else None

    @property
    def totals(self) -> dict[str, Total]:
        """One sum for each kind of item: posts and followers are not added up."""
        return dict(self._totals)

    @property
    def captured(self) -> int | None:
        """The posts that its lines count; None where it has no lines about posts."""
        return self._totals["posts"].captured if "posts" in self._totals else None

    @property
    def posts(self) -> PostSums:
        """All stored posts, of the view by day: what its lines add up to, without reading the posts again."""
        days, names = [posts_of(day) for day in self.days], PostSums.__struct_fields__
        return PostSums(*(sum(getattr(day, name) for day in days) for name in names))

    def lines(self) -> list[Entry]:
        """Those that lack most; of days the last ones."""
        if self._view == "day":
            last = nlargest(self.top, self._kept, key=lambda entry: entry.subject)
            return nsmallest(self.top, last, key=lambda entry: entry.subject)
        return nlargest(self.top, self._kept, key=rank)
