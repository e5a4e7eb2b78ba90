"""Hostile servers in short: a sample of all scenes; `bowerbird evaluate hostile` plays them all."""

from __future__ import annotations

import pytest

from bowerbird.evaluate.hostile import WORLDS, Wish, chosen, evaluate_hostile
from bowerbird.evaluate.hostile.attacks import ATTACKS
from bowerbird.evaluate.hostile.messages import CHANNELS, STREAM_ATTACKS
from bowerbird.evaluate.hostile.wires import WIRE_ATTACKS


def test_every_attack_meets_every_network_and_every_channel() -> None:
    scenes = chosen()
    assert len(scenes) >= 200
    assert {(each.attack, each.network) for each in scenes if each.stage == "answers"} >= {
        (attack, network) for attack in ATTACKS for network in WORLDS
    }
    assert {each.attack for each in scenes if each.stage == "wire"} == set(WIRE_ATTACKS)
    assert {each.attack for each in scenes if each.stage == "stream"} == set(STREAM_ATTACKS)
    assert {each.part for each in scenes if each.stage == "stream"} == set(CHANNELS)
    assert any(each.is_on_postgres for each in scenes)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_sample_of_hostile_scenes_does_no_harm() -> None:
    said: list[str] = []
    figures = evaluate_hostile(Wish(is_short=True, jobs=2, say=said.append))
    assert figures["scenes"] >= 40
    wrong = {name: figures[name] for name in ("wedged", "crashed", "leaked", "over_limit", "lost") if figures[name]}
    assert (wrong, said) == ({}, [])
    assert figures["peak_mb"] <= 400
