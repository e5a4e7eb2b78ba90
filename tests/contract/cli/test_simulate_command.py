"""`bowerbird simulate` as a user runs it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from subprocess import PIPE
from urllib.request import Request, urlopen

import pytest
from command_errors import refused

from bowerbird.cli.commands.trying.simulate import _named, current_event, world_with_event, writers_to_try
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
    assert re.findall(r"\d+", said.splitlines()[-1]) == ["1", "0"], "calls, and how many were refused"
    assert sum(token["kind"] == "user" for token in told["tokens"]) == 2


def test_current_event_planned_is_the_one_to_follow_and_has_posts_soon() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    usual = WorldSettings(seed=2, accounts=2_000, start=now)
    service = simulate(Setup(dialect="bluesky", world=world_with_event(usual, now)))
    before, during = current_event(service, now), current_event(service, now + timedelta(minutes=2))
    assert before is not None
    assert during is not None
    assert before.posts == 0
    assert 50 < during.posts < 1_000
    assert before.hashtags == during.hashtags
    seconds = service.truth.event_posts(now, now + timedelta(minutes=10)).values()
    assert during.posts > 0.7 * max(map(len, seconds))


def test_current_event_unplanned_is_the_one_with_most_posts() -> None:
    now = datetime(2026, 3, 5, 12, tzinfo=UTC)
    service = simulate(Setup(dialect="bluesky", world=WorldSettings(seed=2, accounts=5_000, start=now - timedelta(days=3))))
    posts = service.truth.event_posts(now - timedelta(hours=6), now)
    found = current_event(service, now)
    assert found is not None
    assert found.posts == max(map(len, posts.values())) > 0


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
    ("arguments", "code", "value"),
    [
        (["--fault", "gremlin=0.1"], "unknown_name", "gremlin"),
        (["--fault", "reset"], "invalid", "'reset'"),
        (["--fault", "stream_cut=3"], "invalid", "stream_cut"),
        (["--dialect", "gopher"], "unknown_name", "'gopher'"),
        (["--accounts", "1"], "invalid", "not 1"),
        (["--limit-scale", "0"], "invalid", "0.0"),
        (["--pace", "0"], "invalid", "0.0"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], code: str, value: str) -> None:
    assert value in refused("simulate", *arguments, code=code).problem
