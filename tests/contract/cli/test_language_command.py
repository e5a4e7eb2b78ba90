"""`bowerbird evaluate language`, as a user calls it, on a small folder of made-up posts."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bowerbird.cli import run
from language_posts import BRAZILIAN, ENGLISH, EUROPEAN, SPANISH

CODES = ("bos", "bul", "deu", "eng", "hrv", "hun", "pol", "por", "rus", "slk", "slv", "spa", "sqi", "srp", "swe")


def numbered(posts: Sequence[str]) -> list[str]:
    return [f"{text} {number}" for number in range(20) for text in posts][:110]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    spoken = {"por": EUROPEAN, "spa": SPANISH * 2}
    tweets = [f"{code}\t1\tNeutral\t2013\t{text}" for code in CODES for text in numbered(spoken.get(code, ENGLISH))]
    _write(folder / "language-tweets-15" / "tweets.tsv", ["lang\tid\tsentiment\ttime\ttext", *tweets])
    labelled = [("PT-PT", numbered(EUROPEAN)), ("PT-BR", numbered(BRAZILIAN)), ("PT", ["Bom dia"])]
    news = [f'1\t"{text}"\t{label}' for label, texts in labelled for text in texts]
    for part in ("train", "dev"):
        _write(folder / "portuguese-varieties" / f"PT_{part}.tsv", news)
    people = [
        ("pt-PT", "@rui", numbered(EUROPEAN)),
        ("pt-PT", "@eva", numbered(EUROPEAN)),
        ("pt-BR", "@ana", numbered(BRAZILIAN)),
    ]
    posts = [f"{variety}\t{author}\t{text} em Lisboa" for variety, author, texts in people for text in texts]
    _write(folder / "portuguese-politicians" / "posts.tsv", ["variety\tauthor\ttext", *posts])
    brazilian = folder / "portuguese-br-tweets" / "ToLD-BR.csv"
    brazilian.parent.mkdir()
    with brazilian.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in numbered(BRAZILIAN))])
    return folder


def test_every_direction_is_measured_and_the_worst_is_the_headline(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "language", "--data", str(data), "--bundles", "10", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(figures["directions"]) == 8
    worst = min(each["bundles"]["30-100"]["precision"] for each in figures["directions"].values())
    assert figures["pt-PT"]["precision"] == worst >= 0.974
    tweets = figures["methods"]["tweets"]
    assert tweets["ours_as_packaged"]["bundles"]["30-40"]["number"] == 10
    assert tweets["ours_as_packaged"]["bundles"]["taken_for_pt-PT"]["pt-BR"] == 0
    assert tweets["echo"]["bundles"].keys() >= {"30-40", "41-60", "61-80", "81-100", "30-100", "one_language"}
    assert figures["methods"]["politicians_masked"]["echo"]["authors"]["pt-PT"]["authors"] == 2
    assert figures["languages"]["by_language"]["pt"]["accuracy"] == 1.0
    assert figures["languages"]["by_language"]["de"]["accuracy"] == 0.0, "what is labelled German here is English"


def test_weights_are_written_for_others_to_read(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "weights.toml"
    assert run(["evaluate", "language", "--data", str(data), "--weights", str(file)]) == 0
    assert "progressive-infinitive = " in file.read_text("utf-8")
    assert "Wrote" in capsys.readouterr().out


def test_a_folder_without_the_data_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "language", "--data", str(tmp_path)]) == 2
    assert "tweets.tsv; name the folder that holds the evaluation data" in capsys.readouterr().err.replace("\n", " ")


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
