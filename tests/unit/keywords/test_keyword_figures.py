"""The names of figures about keywords, and the thresholds of a method."""

from __future__ import annotations

from pathlib import Path

from bowerbird.keywords.burst import ENTRY_PRECISION, EXIT_PRECISION, HASHTAG_DISCOUNT
from bowerbird.reports.keywords.figures import FIGURES, Thresholds, name_figure

GUIDE = (Path(__file__).parents[3] / "docs" / "how-to" / "events.md").read_text("utf-8")
THRESHOLDS = Thresholds(
    enters_from=ENTRY_PRECISION, hashtag_enters_from=ENTRY_PRECISION - HASHTAG_DISCOUNT, leaves_below=EXIT_PRECISION
)


def test_guide_names_and_explains_every_figure() -> None:
    rows = [f"| {each.name} | `{key}` | {each.meaning} |" for key, each in FIGURES.items()]
    assert [row for row in rows if row not in GUIDE] == []


def test_guide_has_the_thresholds_of_the_code() -> None:
    assert str(THRESHOLDS) in GUIDE


def test_needed_precision_depends_on_kind_and_verdict() -> None:
    found = [THRESHOLDS.needed(*each) for each in (("#mud", "full"), ("mud", "no burst"), ("old town", "enters"), ("mud", "in"))]
    assert found == [*(f"low end ≥ {least} %" for least in (45, 60, 60)), "mean ≥ 40 %"]


def test_name_figure_of_an_unnamed_figure_is_its_key_in_words() -> None:
    assert [name_figure(key) for key in ("expected", "undelivered_posts")] == ["Expected posts", "Undelivered posts"]
