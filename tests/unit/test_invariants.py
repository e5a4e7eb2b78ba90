"""The page of rules names tests that exist, and the table of mutations agrees with it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| ([A-Z]+\d+) \| .+ \| `[^`]+` \| `([^`]+)` \| (yes|no) \|$", re.MULTILINE)


def rules() -> list[tuple[str, str, str]]:
    """Return number, test and "before" of every rule on the page."""
    return _ROW.findall(PAGE)


def test_rules_page_has_at_least_30_rules_with_different_numbers() -> None:
    numbers = [number for number, *_ in rules()]
    assert len(numbers) == len(set(numbers)) >= 30
    # Every row of a table could be read.
    assert len(numbers) == len(re.findall(r"^\| [A-Z]+\d+ \|", PAGE, re.MULTILINE))


def test_rules_page_names_tests_that_exist() -> None:
    missing = []
    for number, test, _ in rules():
        path, _, name = test.partition("::")
        file = ROOT / path
        is_there = file.is_file() and re.search(rf"^(async )?def {name}\(", file.read_text(encoding="utf-8"), re.MULTILINE)
        if not is_there:
            missing.append((number, test))
    assert missing == []


def test_every_mutation_belongs_to_rule_with_the_same_test() -> None:
    table = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text(encoding="utf-8"))
    tests = {number: test for number, test, _ in rules()}
    assert {rule: entry["test"] for rule, entry in table.items()}.items() <= tests.items()


def test_every_mutation_finds_its_text_once() -> None:
    table = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text(encoding="utf-8"))
    source = ROOT / "src" / "bowerbird"
    stale = [
        (rule, file)
        for rule, entry in table.items()
        for file, old, _ in entry["edits"]
        if (source / file).read_text(encoding="utf-8").count(old) != 1
    ]
    assert stale == []


def test_rules_page_counts_rules_without_earlier_test() -> None:
    # Rate limits have their own count.
    counted = [row for row in rules() if not row[0].startswith("R")]
    (total, new) = re.findall(r"Of (\d+) rules outside rate limits, (\d+) had no test", PAGE)[0]
    assert (int(total), int(new)) == (len(counted), sum(row[2] == "no" for row in counted))
