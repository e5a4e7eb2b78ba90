"""`bowerbird evaluate profiles`, as a user calls it, on a small folder of made-up names."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from command_errors import refused

from bowerbird.cli import run
from bowerbird.community.names import name_log_odds, unpack_table

STEMS = ("Lar", "Nil", "Kar", "Sven", "Hen", "Joh", "And", "Mag", "Ul", "Per", "Tor", "Ax", "Got", "Ras", "Bjor")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    ends = {"Sweden": ("s", "sson"), "Italy": ("o", "elli")}
    names = [
        f"{country}\t{first}{one} {last}{other}\t"
        for country, (one, other) in ends.items()
        for first, last in product(STEMS, STEMS)
    ]
    (folder / "names-by-country").mkdir()
    (folder / "names-by-country" / "politicians.tsv").write_text(
        "\n".join(["country\tname\ttwitter", *names, "Atlantis\tNemo\t"])
    )
    return folder


def test_names_are_measured(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "profiles", "--data", str(data), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["by_country"].keys() == {"SE", "IT"}
    assert figures["names"]["own_accepted"] > 0.9 > 0.1 > figures["names"]["own_rejected"]


def test_the_table_of_names_is_written(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "names.npz"
    assert run(["evaluate", "profiles", "--data", str(data), "--names", str(file)]) == 0
    ratio = name_log_odds("Sven Larsson", ("SE",), table=unpack_table(file.read_bytes()))
    assert ratio is not None
    assert ratio > 0


def test_a_folder_without_the_data_is_named(tmp_path: Path) -> None:
    assert "politicians.tsv" in refused("evaluate", "profiles", "--data", tmp_path, code="file_not_found").problem
