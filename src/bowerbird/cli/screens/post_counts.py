"""How many posts there are, the same on every screen and in every JSON: what is stored, with or without its content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.model import PostFate
from bowerbird.reports.counting.counts import Count

_FATES = {
    PostFate.KEPT: "with their content",
    PostFate.OPTED_OUT: "by id and time only (their authors asked not to be collected)",
    PostFate.DELETED: "by id and time only (deleted since)",
}
"""What becomes of stored posts, and the words for it."""


def told(fates: Mapping[str, Count]) -> str:
    """`1,614 posts: 1,567 with their content, 47 by id and time only (…)`; what is not there is not named."""
    parts = [f"{number(fates[fate])} {words}" for fate, words in _FATES.items() if fate in fates and fates[fate].value]
    whole = total(fates)
    posts = f"{number(whole)} post{'' if whole.value == 1 else 's'}"
    return f"{posts}: {', '.join(parts)}" if len(parts) > 1 or (parts and PostFate.KEPT not in fates) else posts


def total(fates: Mapping[str, Count]) -> Count:
    return Count(sum(count.value for count in fates.values()), all(count.is_exact for count in fates.values()))


def number(count: Count) -> str:
    return f"{count.value:,}" if count.is_exact else f"~{count.value:,}"


def values(fates: Mapping[str, Count]) -> dict[str, Any]:
    """The same for machines."""
    return {"stored": total(fates).value, **{fate: fates.get(fate, Count(0)).value for fate in _FATES}}
