"""Faults on demand: reproducible, of the kinds asked for, and refused with advice where they make no sense."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import msgspec
import pytest

from bowerbird.errors import UserError
from bowerbird.model import Request
from bowerbird.simulated.faults import KINDS, MESSAGE_KINDS, UNCOUNTED, Faults, Outage
from bowerbird.simulated.service import Delivery, Manner, Setup, SimulatedService, simulate
from bowerbird.simulated.world import World, WorldSettings
from failures import raises_code

NOW = datetime(2026, 1, 7, 12, tzinfo=UTC)
DIRECTORY = Request(path="/api/v1/directory")


@cache
def world() -> World:
    return World(WorldSettings(accounts=60))


def service(faults: Faults) -> SimulatedService:
    return simulate(Setup(faults=faults), world())


def meets(kind: str) -> tuple[SimulatedService, Delivery]:
    simulated = service(Faults(rates={kind: 1.0}))
    return simulated, simulated.receive(DIRECTORY, NOW)


def test_the_same_seed_fails_at_the_same_requests() -> None:
    def kinds(seed: int) -> list[str | None]:
        faults = Faults(seed=seed, rates={"reset": 0.1, "bad_gateway": 0.1})
        return [faults.at(serial, NOW) for serial in range(500)]

    assert kinds(1) == kinds(1)
    assert kinds(1) != kinds(2)
    assert 60 < sum(kind is not None for kind in kinds(1)) < 140


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_counts_the_call_or_not_as_it_says(kind: str) -> None:
    simulated, _ = meets(kind)
    assert simulated.limiter.used("throttle_unauthenticated_api") == (0 if kind in UNCOUNTED else 1)
    assert simulated.audit()["faults"] == {kind: 1}


@pytest.mark.parametrize(
    ("kind", "status"),
    [("error_500", 500), ("bad_gateway", 502), ("unavailable", 503), ("limited", 429), ("limited_bare", 429), ("bad_token", 401)],
)
def test_errors_have_their_status(kind: str, status: int) -> None:
    assert meets(kind)[1].reply.status == status


@pytest.mark.parametrize(
    ("kind", "manner"), [("reset", Manner.RESET), ("lost_before", Manner.LOST), ("lost_after", Manner.LOST), ("cut", Manner.CUT)]
)
def test_answers_get_lost_in_their_manner(kind: str, manner: Manner) -> None:
    assert meets(kind)[1].manner is manner


def test_spoiled_bodies_are_spoiled() -> None:
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(meets("truncated")[1].reply.body)
    assert meets("html_200")[1].reply.body.startswith(b"<!DOCTYPE html>")
    items = msgspec.json.decode(meets("wrong_types")[1].reply.body)
    assert any(not isinstance(item, dict) or not isinstance(item["id"], str) for item in items)


def test_counters_lie_when_told_to() -> None:
    def remaining(kind: str) -> str | None:
        return meets(kind)[1].reply.headers.get("x-ratelimit-remaining")

    assert remaining("remaining_high") == "603"
    assert remaining("remaining_low") == "149"
    assert remaining("no_headers") is None
    assert remaining("limited") == "0"
    assert remaining("limited_bare") is None


def test_a_slow_answer_is_a_good_one() -> None:
    _, delivery = meets("slow")
    assert delivery.delay == timedelta(seconds=20)
    assert delivery.reply.status == 200


def test_an_outage_lasts_from_then_to_then() -> None:
    faults = Faults(outages=(Outage(NOW, NOW + timedelta(minutes=5), "unavailable"),))
    assert faults.at(0, NOW - timedelta(seconds=1)) is None
    assert faults.at(0, NOW) == "unavailable"
    assert faults.at(0, NOW + timedelta(minutes=5)) is None


def test_a_clock_ahead_moves_date_and_windows() -> None:
    reply = service(Faults(skew=timedelta(minutes=7))).receive(DIRECTORY, NOW).reply
    assert reply.headers["date"] == "Wed, 07 Jan 2026 12:07:00 GMT"
    assert reply.headers["x-ratelimit-reset"] == "2026-01-07T12:10:00.000000Z"


@pytest.mark.parametrize(
    ("rates", "code", "named"), [({"gremlin": 0.1}, "unknown_name", "gremlin"), ({"reset": 1.2}, "invalid", "{'reset': 1.2}")]
)
def test_senseless_faults_are_refused(rates: dict[str, float], code: str, named: str) -> None:
    with raises_code(UserError, code) as caught:
        Faults(rates=rates)
    assert named in caught.value.problem


def test_every_fault_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "simulated.md").read_text(encoding="utf-8")
    for kind, meaning in (KINDS | MESSAGE_KINDS).items():
        assert f"| `{kind}` | {meaning} |" in text
