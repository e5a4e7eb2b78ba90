"""The stream evaluation in short: real sockets, a few cuts, nothing lost but what lies in a recorded gap."""

from __future__ import annotations

from bowerbird.errors import UserError
from bowerbird.evaluate.stream import evaluate_stream
from failures import raises_code


def test_a_few_cuts_lose_and_double_nothing() -> None:
    told: list[str] = []
    figures = evaluate_stream(3, seed=5, names=("firehose", "mastodon_events", "x_sample"), say=told.append)
    streams = figures["streams"]
    assert streams["firehose"]["missing"] == 0
    assert streams["firehose"]["gaps"] == 0
    assert streams["mastodon_events"]["gaps"] > 0
    assert streams["x_sample"]["missing"] > 0
    for each in streams.values():
        assert each["cuts"] == 3
        assert each["events"] > 0
        assert each["doubled"] == 0
    # How many a sample brings is a matter of chance: of all together there are many.
    assert sum(each["events"] for each in streams.values()) > 30
    for name in ("mastodon_events", "x_sample"):
        assert streams[name]["missing"] == streams[name]["recorded_gaps"], told
    assert figures["is_clean"]
    assert len(told) == 3


def test_an_unknown_stream_is_named() -> None:
    with raises_code(UserError, "unknown_name") as caught:
        evaluate_stream(1, names=("jet",))
    assert "'jet'" in caught.value.problem
    assert "jetstream" in caught.value.advice
