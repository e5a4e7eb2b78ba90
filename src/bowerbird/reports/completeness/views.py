"""What a view of the completeness ledger comes to: sums, and the lines that matter most."""

from __future__ import annotations

from collections import defaultdict
from heapq import nlargest, nsmallest

from bowerbird.reports.completeness.days import PostSums, posts_of
from bowerbird.reports.completeness.entries import Entry, Total


class ViewSums:
    """Takes the lines of one view one by one; memory holds the sums and a few lines."""

    def __init__(self, view: str, top: int) -> None:
        """`top`: how many lines to keep."""
        self._view, self._top = view, top
        self._totals: defaultdict[str, Total] = defaultdict(Total)
        self._kept: list[Entry] = []
        self._days: list[PostSums] = []

    def add(self, entry: Entry) -> None:
        self._totals[entry.items].add(entry)
        self._kept.append(entry)
        if self._view == "day":
            self._days.append(posts_of(entry))
        if len(self._kept) >= 2 * self._top + 100:
            self._kept = self.lines()

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
        names = PostSums.__struct_fields__
        return PostSums(*(sum(getattr(day, name) for day in self._days) for name in names))

    def lines(self) -> list[Entry]:
        """Those that lack most; of days the last ones."""
        if self._view == "day":
            last = nlargest(self._top, self._kept, key=lambda entry: entry.subject)
            return nsmallest(self._top, last, key=lambda entry: entry.subject)
        return nlargest(self._top, self._kept, key=lambda entry: (entry.likely, entry.high is None, entry.high or 0))
