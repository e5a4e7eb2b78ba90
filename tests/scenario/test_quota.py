"""A short course of `bowerbird evaluate quota`: nothing refused, hardly anything left unused."""

import json
from datetime import timedelta

import pytest

from bowerbird.cli import run
from bowerbird.evaluate.quota import play
from bowerbird.evaluate.quota_service import Scene, allowed
from bowerbird.model import WindowKind
from marks import long

SMALL = (45, 15, 15)
OUTAGE = (timedelta(minutes=74), timedelta(minutes=76))


@pytest.mark.parametrize(("kind", "least"), [(WindowKind.ALIGNED, 0.99), (WindowKind.FIRST_CALL, 0.97)])
def test_windows_are_used_up_without_a_refusal(kind: WindowKind, least: float) -> None:
    scene = Scene(hours=3, credentials=3, allowances=SMALL, kind=kind, seed=7, outage=OUTAGE)
    tally = play(scene, say=lambda text: None)
    assert tally.refused == 0
    assert tally.used > least
    assert tally.lost > 0


@pytest.mark.parametrize("kind", [WindowKind.FIRST_CALL, *long(WindowKind.ALIGNED)])
def test_even_a_miserable_network_causes_no_refusal(kind: WindowKind) -> None:
    scene = Scene(hours=2, credentials=2, allowances=SMALL, kind=kind, seed=3, lost_before=0.1, lost_after=0.1)
    tally = play(scene, say=lambda text: None)
    assert tally.refused == 0
    assert tally.used > 0.85


def test_the_same_seed_gives_the_same_course() -> None:
    scene = Scene(hours=0.5, credentials=2, allowances=SMALL, seed=5)
    assert play(scene, say=lambda text: None) == play(scene, say=lambda text: None)


def test_what_windows_allow_is_counted_without_the_time_of_an_outage() -> None:
    whole = Scene(hours=2, skew=timedelta(0), drift=0.0, allowances=(10,))
    assert allowed(whole) == 80
    outage = (timedelta(minutes=40), timedelta(minutes=70))
    assert allowed(Scene(hours=2, skew=timedelta(0), drift=0.0, allowances=(10,), outage=outage)) == 70
    first_call = Scene(hours=2, skew=timedelta(0), drift=0.0, allowances=(10,), outage=outage, kind=WindowKind.FIRST_CALL)
    assert allowed(first_call) == 70


def test_the_command_ends_with_one_line_of_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "quota", "--hours", "0.5", "--credentials", "1", "--json"]) == 0
    shown = capsys.readouterr()
    figures = json.loads(shown.out.splitlines()[-1])
    assert (figures["refused"], figures["facets"], figures["published"]) == (0, 6, 0.985)
    assert "first_call" in shown.err
