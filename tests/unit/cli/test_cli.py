"""The frame of the command line: help, errors, exit codes, output."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bowerbird import __version__, cli
from bowerbird.cli.screens.output import JsonFlag, Output, column_widths, printable
from bowerbird.cli.screens.sample_page import show_sample
from bowerbird.cli.which import likely_crawls
from bowerbird.clock import RealClock
from bowerbird.errors import Busy, UserError
from bowerbird.policies.graph_walks.walking import Step
from bowerbird.reports.studies.known import Known
from bowerbird.reports.studies.sample import Figure, Sample
from bowerbird.store.opening import open_store
from failures import json_error

HEAVY = (
    "aiohttp",
    "asyncpg",
    "cryptography",
    "numpy",
    "rich",
    "structlog",
    "bowerbird.crawl",
    "bowerbird.simulated",
    "bowerbird.db",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    return tmp_path


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Makes `bowerbird stop` fail in this way."""

    def command(as_json: JsonFlag = False) -> None:
        raise error

    module = type(sys)("bowerbird.cli.commands.crawling.stop")
    module.command = command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bowerbird.cli.commands.crawling.stop", module)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in cli.COMMANDS if f"  {name} " not in shown] == []


def test_help_loads_nothing_heavy() -> None:
    code = f"import sys; from bowerbird.cli import run; run(['--help']); print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


READING = ("status", "completeness", "history", "gone", "dehydrate", "overlap", "cascade", "places", "pause", "resume", "stop")
"""Commands that only look at a store, and are asked for often."""
_SLOW = (
    *("aiohttp", "asyncpg", "cryptography", "numpy", "rich", "pydantic"),
    *("importlib.metadata", "importlib.resources", "urllib.request"),
    *("bowerbird.app", "bowerbird.crawl.process.worker", "bowerbird.crawl.streaming.streamer", "bowerbird.simulated"),
    *("bowerbird.store.store", "bowerbird.analysis.places.resolver", "bowerbird.providers.x", "bowerbird.providers.bluesky"),
)
_CRAWL = """
flow = "timelines"
seeds = ["1"]
[service]
name = "here"
provider = "mastodon"
base = "https://mastodon.example"
"""


def test_commands_that_read_a_store_load_only_what_that_takes() -> None:
    load = "; ".join(f"import {cli.module_of(name)}" for name in READING)
    code = f"import sys; {load}; print([name for name in {_SLOW} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_one_line_commands_load_neither_other_databases_nor_pictures() -> None:
    unwanted = ("asyncpg", "rich", "numpy", "importlib.metadata", "bowerbird.analysis.places.resolver", "bowerbird.simulated")
    code = f"import sys; import bowerbird.cli.everyday.steps; print([name for name in {unwanted} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


async def _make_store(path: Path) -> None:
    async with open_store(str(path), RealClock()) as database:
        assert database.dialect == "sqlite"


_UNUSED = ("statistics", "json", "zstandard", "bowerbird.reports.browsing.items", "bowerbird.flows.files.crawl_file")
"""What `status`, or a crawl, needs of the rest."""


@pytest.mark.parametrize("command", ["status", "gone"])
def test_reading_a_store_loads_no_other_network_and_nothing_that_crawls(tmp_path: Path, command: str) -> None:
    (tmp_path / "crawl.toml").write_text(_CRAWL)
    asyncio.run(_make_store(tmp_path / "crawl.db"))
    heavy = [*_SLOW, *(_UNUSED if command == "gone" else ())]
    code = f"import sys; from bowerbird.cli import run; done = run(['{command}', 'crawl.toml']); "
    other = "'bowerbird.providers.mastodon.parse' in sys.modules"
    code += f"print(done, [name for name in {heavy} if name in sys.modules], {other})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "0 [] False"


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"bowerbird {__version__}\n"


def test_an_unknown_command_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["fly"]) == 2
    assert "fly" in capsys.readouterr().err


def test_what_the_user_can_change_is_one_line_and_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, UserError("no such crawl; start one first"))
    assert cli.run(["stop"]) == 2
    assert capsys.readouterr().err == "bowerbird: no such crawl; start one first\n"


def test_a_busy_database_is_one_line_and_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, Busy("the database is locked"))
    assert cli.run(["stop"]) == 1
    assert capsys.readouterr().err == "bowerbird: the database is locked\n"


def test_the_unexpected_says_how_to_report_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, ZeroDivisionError("oops"))
    assert cli.run(["stop", "--json"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "unexpected"
    assert "ZeroDivisionError: oops" in error["problem"]
    assert error["advice"] == cli.REPORT_AT
    assert cli.run(["stop"]) == 1
    shown = capsys.readouterr().err
    assert cli.REPORT_AT in shown
    assert "Traceback" not in shown


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, ZeroDivisionError("oops"))
    assert cli.run(["--debug", "stop"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert cli.run(["stop"]) == 130


def test_a_bad_log_level_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--log-level", "loud", "credentials", "list", "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "unknown_name"
    assert "'loud'" in error.problem
    assert "debug" in error.advice


def test_with_json_the_result_is_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(as_json=True)
    output.line("for people")
    output.progress("half done")
    output.table("", ("name",), [("ada",)])
    output.result({"at": datetime(2026, 1, 1, tzinfo=UTC), "took": timedelta(seconds=2), "where": Path("x"), "of": {"b", "a"}})
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"at": "2026-01-01T00:00:00+00:00", "took": 2.0, "where": "x", "of": ["a", "b"]}
    assert json.loads(shown.err) == {"message": "half done"}


def test_for_people_there_is_a_table_and_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.table("", ("name", "posts"), [("ada", 3), ("[red]bob", None)])
    output.result({"never": "shown"})
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [["name", "posts"], ["ada", "3"], ["[red]bob"]]


def test_addresses_and_handles_stay_whole_and_prose_wraps_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    address, words = "https://social.example/users/somebody_with_a_long_name", "a reason of quite a few words"
    Output().table("", ("who", "bucket", "why"), [(address, "social.example/account:mine/paging", words), ("@ada", "b", words)])
    shown = capsys.readouterr().out
    assert address in shown
    assert "social.example/account:mine/paging" in shown
    assert all(word in shown for word in words.split())
    assert column_widths([("head", "text"), ("x" * 30, "two words")], 80) == [30, 9]
    assert column_widths([("head", "text"), ("x" * 30, "two words")], 38) == [30, 6]
    assert column_widths([("head", "text"), ("x" * 30, "two words")], 20) == [30, 5], "no narrower than a word"


def test_a_row_that_goes_to_a_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    prose = " ".join(["words"] * 40)
    Output().table("", ("what", "why"), [("calls", prose), ("posts", prose)])
    assert [line.split(maxsplit=1)[1].strip() for line in capsys.readouterr().out.splitlines()] == ["why", prose, prose]


def test_what_a_server_sent_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[31mb\x07\u202ec\nd é") == "a�[31mb��c\nd é"


def sample_of(*figures: Figure) -> Sample:
    return Sample(
        crawl="a",
        service="sim",
        method="rwrw",
        jump=0,
        walkers=1,
        trace=(Step(1, 0.0, "7", 3),),
        known=Known({}, {}),
        accounts=(),
        figures=figures,
    )


def test_a_sample_of_few_steps_says_that_they_are_too_few(capsys: pytest.CaptureFixture[str]) -> None:
    show_sample(Output(), sample_of(Figure(name="degree", value=3.0, known=1.0)))
    shown = capsys.readouterr().out
    assert re.findall(r"\b\d+\b", shown.splitlines()[0]) == ["1", "1", "0"], "steps, walkers, accounts"
    assert len(set(re.findall(r"[\d.]+%?", next(line for line in shown.splitlines() if "degree " in line)))) == 2, "no sign yet"


def test_a_sample_says_what_keeps_it_from_being_good_enough(capsys: pytest.CaptureFixture[str]) -> None:
    wide, scarce = (
        Figure(name="degree", value=3.0, known=1.0, wanted=0.25),
        Figure(name="posts", value=9.0, known=0.4, wanted=5.0),
    )
    show_sample(Output(), sample_of(wide, scarce, Figure(name="bot", value=0.1, known=1.0, wanted=0.5, is_reached=True)))
    shown = capsys.readouterr().out.splitlines()
    ends = {line.split()[0]: line.split()[-1] for line in shown if line.startswith("  ")}
    assert (ends["degree"], ends["posts"]) == ("0.25", "80%")
    assert ends["bot"] not in ("0.25", "80%", "0.5")


def test_a_postgresql_that_does_not_answer_is_worth_another_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["status", "postgresql://nobody@127.0.0.1:9/none", "--json"]) == 3
    error = json_error(capsys.readouterr().err)
    assert error.code == "database_unreachable"
    assert "postgresql://127.0.0.1:9/none" in error.problem


@pytest.mark.parametrize(
    ("there", "likely"),
    [
        (["one"], ["one"]),
        (["one", "look-up-1", "look-up-22"], ["one"]),
        (["one", "two", "look-up-1"], ["one", "two"]),
        (["look-up-1", "look-up-2"], ["look-up-1", "look-up-2"]),
        ([], []),
    ],
)
def test_who_names_no_crawl_does_not_mean_what_was_looked_up_in_the_browser(there: list[str], likely: list[str]) -> None:
    assert likely_crawls(there) == likely
