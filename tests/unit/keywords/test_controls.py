"""Control searches: which words, and what their posts say about the network."""

from __future__ import annotations

from datetime import timedelta

import pytest
from keyword_frames import NOON, post

from bowerbird.keywords.controls import add_background, choose_controls, estimate_rate, is_control, mix_probes
from bowerbird.keywords.reference import ordinary_share
from bowerbird.keywords.values import SPAN_FRAMES, Frame, Probe
from bowerbird.model.terms import read_text


def control(term: str = "about", posts: int = 40, seconds: int = 78) -> Probe:
    times = [NOON - timedelta(seconds=seconds) * (posts - number) / posts for number in range(posts)]
    return Probe(term=term, at=NOON, posts=tuple(post(f"{number} {term}", at) for number, at in enumerate(times)))


def frame(*probes: Probe) -> Frame:
    return Frame(start=NOON - timedelta(minutes=5), length=timedelta(minutes=5), posts=(), probes=probes)


def test_is_control_common_words_only() -> None:
    assert is_control("about")
    assert not is_control("the")
    assert not is_control("earthquake")
    assert not is_control("#about")
    assert not is_control("about all")


def test_choose_controls_takes_turns_among_words_of_the_language() -> None:
    readings = [read_text("just after that they know about people #flood") for _ in range(3)]
    first, second = choose_controls(readings, 0), choose_controls(readings, 1)
    assert len(first) == len(second) == 3
    assert first != second
    assert all(is_control(word) for word in (*first, *second))
    assert choose_controls([read_text("zorblat")], 0) == []


def test_mix_probes_has_a_control_first_and_loses_nothing() -> None:
    candidates = [f"word{number}" for number in range(9)]
    mixed = mix_probes(["about", "about", "know"], candidates)
    assert mixed[0] == "about"
    assert mixed[5] == "about"
    assert sorted(mixed) == sorted(["about", "about", "know", *candidates])
    assert mix_probes([], candidates) == tuple(candidates)


def test_estimate_rate_divides_by_the_ordinary_share() -> None:
    assert estimate_rate(control(seconds=80)) == pytest.approx(0.5 / ordinary_share("about"))


def test_add_background_contains_the_posts_of_controls_and_a_volume() -> None:
    result = add_background(frame(control(seconds=80), control("earthquake")))
    assert len(result.background) == 40
    assert [each.at for each in result.background] == sorted(each.at for each in result.background)
    assert result.volumes == (round(150 / ordinary_share("about")),) * SPAN_FRAMES


@pytest.mark.parametrize("probe", [control("earthquake"), control(posts=0), control(seconds=0)])
def test_add_background_without_a_usable_control_changes_nothing(probe: Probe) -> None:
    assert add_background(frame(probe)) == frame(probe)
