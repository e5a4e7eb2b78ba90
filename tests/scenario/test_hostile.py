"""Hostile servers in short: one attack on one network or on all, or a sample; `bowerbird evaluate hostile` has all scenes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from bowerbird.evaluate.hostile import WORLDS, chosen
from bowerbird.evaluate.hostile.attacks import ATTACKS
from bowerbird.evaluate.hostile.scenes import BEYOND
from bowerbird.evaluate.hostile.streams.frames import LINE_ATTACKS, SOCKET_ATTACKS
from bowerbird.evaluate.hostile.streams.messages import CHANNELS, STREAM_ATTACKS
from bowerbird.evaluate.hostile.wires import WIRE_ATTACKS

PROGRAM = [sys.executable, "-c", "from bowerbird.cli import main; main()"]


def test_every_attack_meets_every_network_and_every_channel() -> None:
    scenes = chosen()
    assert len(scenes) >= 500
    assert {(each.attack, each.network) for each in scenes if each.stage == "answers"} >= {
        (attack, network) for attack in ATTACKS for network in WORLDS
    }
    assert {(each.part, each.network) for each in scenes if each.stage == "answers"} >= {
        (each.facet, network) for network, facets in BEYOND.items() for each in facets
    }
    assert {each.attack for each in scenes if each.stage == "wire"} == set(WIRE_ATTACKS)
    assert {each.attack for each in scenes if each.stage == "stream"} == set(STREAM_ATTACKS)
    assert {each.part for each in scenes if each.stage == "stream"} == set(CHANNELS)
    assert {each.attack for each in scenes if each.stage == "socket"} == {*SOCKET_ATTACKS, *LINE_ATTACKS}
    assert any(each.is_on_postgres for each in scenes)


@pytest.mark.timeout(600)  # on a busy machine
@pytest.mark.parametrize(
    ("which", "least"),
    [
        (["--only", "nothing", "--network", "mastodon"], 2),
        pytest.param(["--only", "nothing"], 12, marks=pytest.mark.long),
        pytest.param(["--short"], 40, marks=pytest.mark.long),
    ],
    ids=["one network", "one attack", "sample"],
)
def test_hostile_scenes_do_no_harm(which: list[str], least: int) -> None:
    # In a process of its own: scenes are forks, and those of a whole test run would begin with all of its memory.
    done = subprocess.run([*PROGRAM, "evaluate", "hostile", *which, "--jobs", "2", "--json"], capture_output=True, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["scenes"] >= least
    wrong = {name: figures[name] for name in ("wedged", "crashed", "leaked", "over_limit", "lost") if figures[name]}
    assert (wrong, figures["failed"]) == ({}, []), done.stderr
    assert 20 < figures["peak_mb"] <= 400
    assert done.returncode == 0
