"""Every benchmark in its smallest form: it ends with exit code 0 and prints its documented figures.

The figures of runs so small say nothing about speed. They show that a benchmark still works with
the code that it measures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks import baseline
from bowerbird.keywords.reference import decode_table

BENCHMARKS = Path(baseline.__file__).parent
REFERENCES = ("mastodon", "atproto_client")
"""Packages of requirements/benchmarks.txt, which is not part of the locked requirements."""


class Form(NamedTuple):
    """A smallest form of a benchmark."""

    arguments: str
    """`{folder}` is an empty folder, `{data}` one with made-up recorded events."""
    keys: str
    """All keys of the JSON object."""
    zero: str = ""
    """Keys, at any depth, of figures that may be 0; all other numbers are positive."""


PARSED = "mastodon bluesky"
REPORTS = "growth sizes by_report seconds clock_seconds peak_megabytes"
PAGES = "ratio worst processor_ratio empty_milliseconds pages slow searches unreached"
WATCHED = "kept pages_per_second_alone pages_per_second_watched watchers bytes_pushed"
ENGINE = (
    "ratio engine_pages_per_second bare_pages_per_second own_parts_pages_per_second "
    "ratio_to_own_parts ratio_of_processor_time server_share"
)
VIRTUAL = "virtual_hours_per_minute virtual_calls_per_second virtual_first_hour_seconds virtual_refused"
FRONTIER = (
    "sqlite growth growth_batch growth_bare growth_unsynced growth_bare_unsynced growth_processor "
    "rss_mb published_rank_and_seed_micros"
)
FLEET = (
    "ours_1 bare_1 ours_2 bare_2 ours_1_with_latency bare_1_with_latency ours_2_with_latency "
    "bare_2_with_latency ratio ratio_without_latency ratio_with_latency ratio_of_processor_time "
    "scaling lock_wait"
)
COORDINATOR = (
    "per_second bare_per_second ratio ratio_of_processor_time ratio_in_batches "
    "ratio_of_processor_time_in_batches get_p50 get_p99 put_p50 put_p99 bare_get_p50 bare_get_p99 "
    "bare_put_p50 bare_put_p99"
)
EXPORT = "ratio ratios ratio_to_own_tables memory_growth compared rows_a_second processor_seconds clock_seconds peak_megabytes"
START = (
    "ratio start_ratio pass_seconds libraries_seconds bare_typer_seconds version_seconds "
    "status_seconds gone_seconds cascade_seconds dehydrate_seconds completeness_seconds "
    "history_seconds"
)
WALK = (
    "page_files page_engine_files page_calls page_leader page_returns "
    "event_files event_engine_files event_calls event_leader event_returns"
)
POLICIES = "users slowest_median_micros published_micros policies larger_batches"

SHORT: Mapping[str, Form] = {
    "frontier": Form("--sizes 100,200 --postgres 0 --calls 5", FRONTIER),
    "keyword_seeds": Form("--data {data} --posts 10 --ratios 5", "hits by_ratio"),
    "keywords": Form("--networks 300 --collected 30 --rounds 1", "networks collected", "matching"),
    "parse": Form("--without-references --rounds 1 --seconds 0.02", PARSED),
    "policies": Form("--users 200 --calls 5", POLICIES),
    "reports": Form("--sizes 120,240 --folder {folder}", REPORTS),
}
"""Forms of less than three seconds of processor time."""
LONG: Mapping[str, Form] = {
    "coordinator": Form("--pairs 4 --turns 1", COORDINATOR),
    "dashboard": Form("--posts 120 --rounds 2 --pages 600 --crawls 1 --folder {folder}", f"{PAGES} {WATCHED}"),
    "engine": Form(
        "--pages 20 --rounds 1 --accounts 20 --hours 0.1",
        f"{ENGINE} {VIRTUAL}",
        "virtual_first_hour_seconds virtual_refused",
    ),
    "export": Form("--sizes 120,240 --times 1 --folder {folder}", EXPORT),
    "fleet": Form("--pages 24 --processes 1 2", FLEET, "lock_wait"),
    "frontier": Form("--sizes 100,200 --postgres 100 --calls 5", f"{FRONTIER} postgresql"),
    "start": Form("--rounds 1", START),
    "stream": Form("--events 500 --rounds 1", "jetstream firehose"),
    "walk": Form("", WALK),
}
EVERYDAY = Form("--posts 40 --rounds 1", "ratio by_command processor rows seconds start")
BUILDERS = ("baseline", "keyword_reference")
"""Modules that can be run and measure nothing themselves; they have tests of their own below."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "made").mkdir()
    return tmp_path / "made"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two recorded events and ordinary posts, in the files in which recordings are published."""
    data = tmp_path / "data"
    (data / "events-crisisnlp").mkdir(parents=True)
    (data / "language-tweets-15").mkdir()
    events = {"2014_California_Earthquake": "napa", "2015_Nepal_Earthquake_en": "nepalquake"}
    for number, (name, seed) in enumerate(events.items()):
        rows = [f"{(number * 1000 + post) << 38}\tshaking near us {post} #{seed}\tcaution_and_advice" for post in range(40)]
        table = "\n".join(["tweet_id\ttext\tlabel", *rows, ""])
        (data / "events-crisisnlp" / f"{name}.tsv").write_text(table)
    rows = [f"eng\t{number}\t\t\tplain words {number}" for number in range(600)]
    table = "\n".join(["lang\ttweet_id\tsentiment\ttime_utc\ttext", *rows, ""])
    (data / "language-tweets-15" / "tweets.tsv").write_text(table)
    return data


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        cwd=BENCHMARKS.parent,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )


def run_form(module: str, form: Form, folder: Path, data: Path) -> dict[str, Any]:
    """Run a form and return its figures, once they were found to be complete and plausible."""
    arguments = [part.format(folder=folder, data=data) for part in form.arguments.split()]
    done = run(module, *arguments, "--json")
    assert done.returncode == 0, done.stderr[-2000:]
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert set(figures) == set(form.keys.split())
    for name, number in list_numbers(figures):
        is_plausible = number >= 0 if name in form.zero.split() else number > 0
        assert isfinite(number), name
        assert is_plausible, (name, number)
    return figures


def list_numbers(figures: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield each number with its nearest key. Figures contain numbers and names, and never null."""
    assert figures is not None, name
    if isinstance(figures, dict):
        for key, value in figures.items():
            yield from list_numbers(value, key)
    elif isinstance(figures, list):
        for value in figures:
            yield from list_numbers(value, name)
    elif isinstance(figures, int | float):
        yield name, figures


@pytest.mark.parametrize("module", SHORT)
def test_benchmark_in_smallest_form_prints_its_figures(module: str, folder: Path, data: Path) -> None:
    run_form(module, SHORT[module], folder, data)


@pytest.mark.long
@pytest.mark.parametrize("module", LONG)
def test_long_benchmark_in_smallest_form_prints_its_figures(module: str, folder: Path, data: Path) -> None:
    run_form(module, LONG[module], folder, data)


def test_every_benchmark_has_a_smallest_form() -> None:
    runnable = {
        path.stem
        for path in BENCHMARKS.glob("*.py")
        if '__name__ == "__main__"' in path.read_text()
        # References that benchmarks run.
        and not path.stem.startswith("bare_")
    }
    assert runnable == {*SHORT, *LONG, "everyday", *BUILDERS}


@pytest.mark.long
@pytest.mark.skipif(
    not all(map(find_spec, REFERENCES)),
    reason="needs Mastodon.py and atproto, which are not locked: pip install -r requirements/benchmarks.txt",
)
def test_parse_with_references_prints_their_ratios(folder: Path, data: Path) -> None:
    done = run("parse", "--rounds", "1", "--seconds", "0.02", "--json")
    assert done.returncode in (0, 1), "1: a ratio is below its target, which says little of a run so short"
    figures = json.loads(done.stdout.splitlines()[-1])
    assert set(figures) == {"mastodon", "bluesky"}
    assert all(each["ratio"] > 0 for each in figures.values()), figures


@pytest.mark.long
def test_everyday_commands_and_bare_loops_bring_as_many_posts(folder: Path, data: Path) -> None:
    rows = run_form("everyday", EVERYDAY, folder, data)["rows"]
    assert rows["timeline"] == [40, 40]
    assert rows["hydrate"] == [40, 40]
    assert 0 < rows["search"][0] <= 40


def test_keyword_reference_writes_a_table_of_words(folder: Path, data: Path) -> None:
    lists, table = folder / "stop-words.json", folder / "reference.bin"
    lists.write_text(json.dumps({"fr": ["avec", "parce que"], "en": ["the"]}))
    options = ("--data", str(data), "--stop-words", str(lists), "--output", str(table))
    done = run("keyword_reference", *options)
    assert done.returncode == 0, done.stderr[-2000:]
    frequencies = decode_table(table.read_bytes())
    assert {"avec", "plain", "words"} <= frequencies.keys()
    assert "the" not in frequencies


def test_baseline_lists_the_chosen_commands() -> None:
    done = run("baseline", "--list", "benchmarks.walk", "benchmarks.parse")
    assert done.returncode == 0, done.stderr[-2000:]
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "benchmarks.walk",
        "benchmarks.parse",
    ]
    assert run("baseline", "--list", "benchmarks.none").returncode == 2


def test_baseline_measures_a_command_once(folder: Path) -> None:
    command = baseline.Command("parse", f"python -m benchmarks.parse {SHORT['parse'].arguments}")
    file = folder / "2026-01-05.json"
    baseline.run([command], file, "0" * 40)
    first = baseline.read(file)
    assert first is not None
    assert [entry.name for entry in first.entries] == ["parse"]
    assert first.entries[0].exit_code == 0
    assert first.entries[0].processor_seconds is not None
    assert first.entries[0].processor_seconds > 0
    assert set(first.entries[0].figures) == {"mastodon", "bluesky"}
    baseline.run([command], file, "0" * 40)
    assert baseline.read(file) == first


def test_baseline_without_figures_writes_no_entry(folder: Path) -> None:
    file = folder / "2026-01-05.json"
    baseline.run([baseline.Command("none", "python -c pass")], file, "0" * 40)
    assert not file.exists()


def test_baseline_stops_a_command_at_its_limit(folder: Path) -> None:
    sleeping = baseline.Command("sleeping", "python -c 'import time; time.sleep(60)'")
    with pytest.raises(baseline.NotMeasured):
        baseline.measure(sleeping, baseline.DATA, limit=0.3)


def test_baseline_of_another_commit_is_refused(folder: Path) -> None:
    file = folder / "2026-01-05.json"
    baseline.write(file, baseline.Baseline("1" * 40, baseline.describe_machine(), []))
    with pytest.raises(SystemExit):
        baseline.run([baseline.COMMANDS[0]], file, "0" * 40)


def test_recorded_baseline_has_entries_of_known_commands() -> None:
    recorded = baseline.read(max(baseline.FOLDER.glob("*.json")))
    assert recorded is not None
    known = {command.name for command in baseline.COMMANDS}
    assert {entry.name for entry in recorded.entries} <= known
    assert len({entry.name for entry in recorded.entries}) == len(recorded.entries) > 0
