"""How many posts there are, in the same words on every screen: what is stored, with or without its content."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.model import PostFate
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.counting.posts import total

_FATES = {
    PostFate.KEPT: "with their content",
    PostFate.OPTED_OUT: "by id and time only (their authors asked not to be collected)",
    PostFate.DELETED: "by id and time only (deleted since)",
}
"""What becomes of stored posts, and the words for it."""


def told(fates: Mapping[PostFate, Count]) -> str:
    """`1,614 posts: 1,567 with their content, 47 by id and time only (…)`; what is not there is not named."""
    parts = [f"{number(fates[fate])} {words}" for fate, words in _FATES.items() if fate in fates and fates[fate].value]
    whole = total(fates)
    posts = f"{number(whole)} post{'' if whole.value == 1 else 's'}"
    return f"{posts}: {', '.join(parts)}" if len(parts) > 1 or (parts and PostFate.KEPT not in fates) else posts


def number(count: Count) -> str:
    return f"{count.value:,}" if count.is_exact else f"~{count.value:,}"
