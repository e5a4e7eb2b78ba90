"""The one line that joins what `completeness` counts by user, query, id and day with what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.cli.screens.amounts import post_counts
from bowerbird.cli.screens.output import Output
from bowerbird.model import PostFate
from bowerbird.reports.completeness import PostSums
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.counting.posts import fate_values

_VIEWS = {
    "user": ("by the accounts asked for", "by accounts that came along"),
    "query": ("listed by queries", "that no query listed"),
    "id": ("asked for by id", "not asked for by id"),
}
"""What a view counts, and what the other stored posts are."""


def show_sums(output: Output, sums: PostSums, captured: Mapping[str, int], crawl: str | None) -> None:
    """What is stored, and how each view comes to its own number; `captured`: by view."""
    output.line("posts in all", style="bold")
    output.line(f"  {post_counts.told(_fates(sums))}" + ("" if crawl is None else f", first brought by {crawl}"))
    undated = f" ({sums.undated:,} of unknown date)" if sums.undated else ""
    if parts := [_part(view, count, sums, crawl) for view, count in captured.items() if view in _VIEWS]:
        output.line(f"  of the {sums.captured:,} with their content{undated}: {'; '.join(parts)}")


def _part(view: str, count: int, sums: PostSums, crawl: str | None) -> str:
    what, others = _VIEWS[view]
    if crawl is not None:
        return f"{count:,} {what}, whichever crawl brought them"
    return f"{count:,} {what}, {sums.captured - count:,} {others}"


def sums_values(sums: PostSums, captured: Mapping[str, int], crawl: str | None) -> dict[str, Any]:
    """The same for machines; `others`: by view how many it does not count, where it counts posts of the whole store."""
    others = {view: sums.captured - count for view, count in captured.items() if view in _VIEWS} if crawl is None else {}
    return {**fate_values(_fates(sums)), "undated": sums.undated, "captured": dict(captured), "others": others}


def _fates(sums: PostSums) -> dict[PostFate, Count]:
    return {PostFate.KEPT: Count(sums.captured), PostFate.OPTED_OUT: Count(sums.opted_out), PostFate.DELETED: Count(sums.deleted)}
