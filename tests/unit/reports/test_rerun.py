"""The command line that continues a crawl, and when a crawl is complete."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pytest

from bowerbird.crawl.process.endings import LIMIT_REACHED, NOTHING_LEFT, SOME_GIVEN_UP
from bowerbird.errors import Failure
from bowerbird.model import CrawlState
from bowerbird.reports.rerun import RerunCommand, is_complete


def test_line_has_the_options_that_decide_which_crawl_it_is() -> None:
    command = RerunCommand(file="my crawls/a.toml", name="b", seeds=("@ada", "two words"), skips_bad=True, vault="keys")
    assert shlex.split(command.line("--apply")) == [
        *("bowerbird", "crawl", "my crawls/a.toml", "--as", "b", "--seed", "@ada", "--seed", "two words"),
        *("--skip-bad", "--vault", "keys", "--apply"),
    ]


def test_line_without_options_names_the_file_only() -> None:
    assert RerunCommand(file="a.toml", keys="/home/ada/vault").line() == "bowerbird crawl a.toml"
    assert RerunCommand().line() == "bowerbird crawl FILE"


def test_stored_command_has_absolute_paths_and_reads_back() -> None:
    command = RerunCommand(file="a.toml", name="b", vault="keys", keys="keys", seeds=("1",))
    stored = msgspec.json.decode(msgspec.json.encode(command.stored()))
    here = Path.cwd()
    assert msgspec.convert(stored, RerunCommand) == RerunCommand(
        file=str(here / "a.toml"), name="b", vault=str(here / "keys"), keys=str(here / "keys"), seeds=("1",)
    )


@pytest.mark.parametrize(
    ("state", "code", "expected"),
    [
        (CrawlState.FINISHED, NOTHING_LEFT, True),
        (CrawlState.FINISHED, SOME_GIVEN_UP, False),
        (CrawlState.FINISHED, LIMIT_REACHED, False),
        (CrawlState.STOPPED, "stopped", False),
        (CrawlState.FAILED, "credential_refused", False),
        (CrawlState.RUNNING, None, False),
    ],
)
def test_crawl_is_complete_only_if_nothing_is_left(state: CrawlState, code: str | None, expected: bool) -> None:
    assert is_complete(state, None if code is None else Failure(code, "a reason")) is expected
