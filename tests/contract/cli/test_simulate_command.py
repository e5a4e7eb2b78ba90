"""`bowerbird simulate` as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from subprocess import PIPE
from urllib.request import Request, urlopen

import pytest

from bowerbird.cli import run
from bowerbird.cli.commands.trying.simulate import _named, writers_to_try
from bowerbird.simulated.service import DIALECTS, Setup, simulate
from bowerbird.simulated.world import WorldSettings


def test_it_serves_until_interrupted_and_prints_what_is_needed() -> None:
    arguments = ["simulate", "--accounts", "100", "--tokens", "2", "--dialect", "twitter_v1", "--pace", "60", "--json"]
    program = "from bowerbird.cli import main; main()"
    with subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        bearer = next(token["value"] for token in told["tokens"] if token["kind"] == "app")
        url = f"{told['base']}/1.1/users/show.json?screen_name={told['handles'][0]}"
        with urlopen(Request(url, headers={"Authorization": f"Bearer {bearer}"})) as response:
            assert json.load(response)["screen_name"] == told["handles"][0]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 0
    assert "Ended after 1 calls, 0 refused." in said
    assert sum(token["kind"] == "user" for token in told["tokens"]) == 2


def test_it_says_which_server_it_is() -> None:
    assert _named("mastodon", "gotosocial") == "gotosocial (provider mastodon)"
    assert _named("mastodon", "mastodon") == "mastodon"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_accounts_it_offers_can_be_collected(dialect: str, seed: int) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    service = simulate(Setup(dialect=dialect, world=WorldSettings(seed=seed, accounts=60, start=now)))
    offered = writers_to_try(service, now)
    assert len(offered) == 3
    assert all(service.truth.is_collectable(account, now) for account in offered)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fault", "gremlin=0.1"],
        ["--fault", "reset"],
        ["--fault", "stream_cut=3"],
        ["--dialect", "gopher"],
        ["--accounts", "1"],
        ["--limit-scale", "0"],
        ["--pace", "0"],
    ],
)
def test_what_makes_no_sense_is_refused_with_advice(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *arguments]) == 2
    assert "bowerbird: " in capsys.readouterr().err
