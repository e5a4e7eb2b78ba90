"""The plan of a crawl: what of a crawl file belongs to it, and how two of them differ, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from bowerbird.app import vocabulary
from bowerbird.crawl.life.plan_versions import differences, document, refusal
from bowerbird.flows.files.crawl_file import parse_crawl

BASIC = """
seeds = ["1"]
concurrency = 4

[flow]
use = "timelines"
[flow.facets.timeline]
revisit = "1d"

[service]
provider = "mastodon"
base = "https://one.example"
credentials = ["mine"]

[stop]
calls = 5
"""


def changes(old: str, new: str) -> list[str]:
    before, now = (document(parse_crawl(text, Path("c.toml"), vocabulary())) for text in (BASIC, BASIC.replace(old, new)))
    return list(differences(before, now))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('seeds = ["1"]', 'seeds = ["1", "2"]'),
        ("calls = 5", "calls = 50"),
        ("concurrency = 4", "concurrency = 8"),
        ('credentials = ["mine"]', 'credentials = ["other"]'),
        ("[stop]", '[backup]\nevery = "1d"\n[stop]'),
    ],
)
def test_what_is_a_matter_of_one_run_is_no_part_of_the_plan(old: str, new: str) -> None:
    assert changes(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('revisit = "1d"', 'revisit = "6h"', ["facets.timeline.revisit", "1 day, 0:00:00", "6:00:00"]),
        ('revisit = "1d"', 'revisit = "1d"\nmax_pages = 3', ["facets.timeline.max_pages", "3"]),
        (
            'base = "https://one',
            'name = "s"\nbase = "https://one',
            ["services.s ", "mastodon", "https://one.example"],
        ),
        (
            "https://one.example",
            "https://two.example",
            ["services.one.example", "mastodon", "https://one.example"],
        ),
        ("[stop]", '[filters]\nlanguages = ["pt"]\n[stop]', ["filters.languages", "pt"]),
        (
            "[stop]",
            "[service.limits.timeline]\nallowance = 7\n[stop]",
            ["services.one.example.limits", "timeline", "allowance 7"],
        ),
        ("[stop]", '[media]\nkinds = ["photo"]\n[stop]', ["media", "photo", "20971520"]),
        ("[stop]", '[history]\ncounters = "1h"\n[stop]', ["history counters", "1 day, 0:00:00", "1:00:00"]),
    ],
)
def test_what_decides_what_is_collected_is_named_with_both_its_values(old: str, new: str, named: list[str]) -> None:
    assert [line for line in changes(old, new) if line.startswith(named[0]) and all(value in line for value in named)]


def test_a_refusal_names_some_of_many_changes_and_counts_the_rest() -> None:
    error = refusal("c", [f"filters.{number} is new" for number in range(30)], "`bowerbird crawl c.toml --apply`")
    assert error.code == "plan_changed"
    assert error.problem.count("is new") == 12
    assert "18" in error.problem
    assert "`bowerbird crawl c.toml --apply`" in error.advice
