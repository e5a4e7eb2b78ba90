"""Which finished listings are written down as incomplete."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bowerbird.crawl.answers.short_lists import shortfall
from bowerbird.model import Facet, Outcome, Page, Subject, Task

NOW = datetime(2026, 1, 5, tzinfo=UTC)
FACET = Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts"}))
LANE: Any = SimpleNamespace(facet=FACET, max_pages=1, hints={})
TASK = Task(task=1, lane=1, target="1", token=1)


@pytest.mark.parametrize(
    ("page", "cause"),
    [
        (Page(), None),
        (Page(is_whole=False, detail="cut"), "unknown"),
        (Page(cursor="2"), "budget"),
        (Page(outcome=Outcome.PROTECTED), "protected"),
        (Page(outcome=Outcome.NOT_FOUND), "unknown"),
    ],
    ids=["whole", "cut", "page limit", "protected", "refused"],
)
def test_shortfall_of_finished_listing_has_its_cause(page: Page, cause: str | None) -> None:
    found = shortfall(LANE, TASK, page, NOW)
    assert (found and found.cause) == cause
