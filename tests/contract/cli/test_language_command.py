"""The command `bowerbird evaluate language` on a small folder of made-up posts."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_errors import refused

from bowerbird.cli import run
from language_posts import BRAZILIAN, ENGLISH, EUROPEAN, SPANISH

CODES = ("bos", "bul", "deu", "eng", "hrv", "hun", "pol", "por", "rus", "slk", "slv", "spa", "sqi", "srp", "swe")


def numbered(posts: Sequence[str]) -> list[str]:
    return [f"{text} {number}" for number in range(40) for text in posts][:240]


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
    code = run(["evaluate", "language", "--data", str(data), "--tweets", "20", "--sets", "10", "--json"])
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert code == (0 if figures["is_good"] else 1)
    assert len(figures["directions"]) == 8
    assert figures["left_out"].keys() == {"tweets", "news", "politicians", "politicians_masked"}
    worst = min(each["sets"]["30-100"]["precision"] for each in figures["directions"].values())
    assert figures["pt-PT"]["precision"] == worst >= 0.974
    packaged = figures["methods"]["tweets"]["ours_as_packaged"]
    assert packaged["sets"]["30-40"]["number"] == 10
    assert packaged["sets"]["claimed_by_kind"]["pt-BR"] == 0
    assert packaged["small_sets"]["30 pt-PT"]["pt-PT"] == 1.0
    assert figures["methods"]["tweets"]["echo"].keys() >= {"30-40", "41-60", "61-80", "81-100", "30-100"}
    assert figures["methods"]["politicians_masked"]["ours_as_packaged"]["authors"]["pt-PT"]["authors"] == 2
    languages = figures["languages"]
    assert languages["methods"]["ours"]["by_language"]["pt"] == 1.0
    assert languages["methods"]["ours"]["by_language"]["de"] == 0.0, "the tweets labelled German here are English"
    assert languages["methods"].keys() >= {"py3langid", "ours_flat", "ours_in_accounts"}
    assert languages["sets"]["10"]["spanish_taken_for_portuguese"] == 0


def test_weights_are_written_for_others_to_read(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "weights.toml"
    assert run(["evaluate", "language", "--data", str(data), "--weights", str(file)]) == 0
    assert "progressive-infinitive = " in file.read_text("utf-8")
    assert str(file) in capsys.readouterr().out


def test_missing_data_is_a_usage_error(tmp_path: Path) -> None:
    assert "tweets.tsv" in refused("evaluate", "language", "--data", tmp_path, code="file_not_found").problem


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
