"""docs/export.md says what the code does: every column of every table, every ending and every option."""

from __future__ import annotations

from pathlib import Path

import pytest

from bowerbird.cli import load
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.reports.blocks.networks import KINDS
from bowerbird.reports.blocks.tables import TABLES

PAGE = (Path(__file__).parents[3] / "docs" / "export.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_column_is_documented_in_its_order(name: str) -> None:
    section = PAGE.partition(f"### {name}\n")[2].partition("\n### ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    assert [(row[1].strip(" `"), row[2].strip()) for row in rows] == [(c.name, str(c.kind)) for c in SHAPES[name].columns]


def test_every_table_has_a_shape_and_every_kind_of_network_is_named() -> None:
    assert set(SHAPES) == set(TABLES)
    assert all(kind in PAGE for kind in KINDS)


def test_every_option_is_in_the_documentation() -> None:
    options = {name for parameter in load("export").params for name in parameter.opts if name.startswith("--")}
    commands = (Path(__file__).parents[3] / "docs" / "commands.md").read_text(encoding="utf-8")
    section = commands.partition("### `bowerbird export`")[2].partition("\n### ")[0]
    assert sorted(option for option in options - {"--help", "--out"} if option not in section) == []
