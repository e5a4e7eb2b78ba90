"""The evaluation of keyword adaptation: made-up and recorded streams, and what is reckoned from a replay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bowerbird.analysis.keywords.grading import Category
from bowerbird.errors import UserError
from bowerbird.evaluate.keywords import seeds_by_event
from bowerbird.evaluate.keywords.figures import against_skwa, figures, mean
from bowerbird.evaluate.keywords.held_out import PARAMETERS, held_out
from bowerbird.evaluate.keywords.recorded import recorded_events, seeds_of_name
from bowerbird.evaluate.keywords.replaying import Conditions, Replayed, replay
from bowerbird.evaluate.keywords.streams import EventStream, StreamPost
from bowerbird.evaluate.keywords.world import Size, World
from bowerbird.policies.keywords import Settings, method

NOON = datetime(2013, 6, 21, 12, tzinfo=UTC)


def stream() -> EventStream:
    texts = [("#a #b", True), ("#b", True), ("#b", False), ("#c", False)]
    posts = [
        StreamPost(str(number), NOON + timedelta(minutes=number), text, is_event) for number, (text, is_event) in enumerate(texts)
    ]
    return EventStream("small", posts, ("#a",))


def collected(*numbers: int, keywords: frozenset[str] = frozenset({"#a"})) -> Replayed:
    return Replayed(collected=frozenset(numbers), lost=0, decisions=(), keywords=((NOON, keywords),))


def test_recall_precision_and_what_is_kept_of_skwa() -> None:
    skwa = collected(0, 1, 2, 3, keywords=frozenset({"#a", "#b", "#c"}))
    mine = collected(0, 2, keywords=frozenset({"#a", "#b"}))
    assert figures(stream(), mine) | {"keywords": 2} == {
        "recall": 0.5, "precision": 0.5, "f1": 0.5, "collected": 2, "lost": 0, "keywords": 2,
    }  # fmt: skip
    labels = {"#a": Category.RELATED, "#b": Category.POSSIBLY, "#c": Category.UNRELATED}
    found = against_skwa(stream(), mine, skwa, labels)
    assert (found["kept"], found["removed"]) == (0.5, 0.5)
    assert found["by_grades"] == {"kept": pytest.approx(2 / 3, abs=1e-4), "removed": 1.0}
    assert found["retained"] == {"C2": 1.0, "C3": 0.0, "all": 0.5}
    assert mean([{"a": 1, "b": {"c": 2}}, {"a": 2, "b": {"c": 4}}]) == {"a": 1.5, "b": {"c": 3.0}}


def test_a_search_sees_nothing_that_comes_later() -> None:
    small = stream()
    assert [post.text for post in small.search("#b", NOON + timedelta(minutes=2), 40)] == ["#a #b", "#b"]
    assert [post.text for post in small.search("b", NOON + timedelta(minutes=9), 2)] == ["#b", "#b"]


def test_a_cap_keeps_posts_back_and_says_how_many() -> None:
    conditions = Conditions(settings=Settings(frame=timedelta(hours=1), minimum=1), cap=1)
    posts = [StreamPost(str(number), NOON, f"#a {number}", True) for number in range(5)]
    found = replay(EventStream("flood", posts, ("#a",)), method("skwa"), conditions)
    assert (len(found.collected), found.lost) == (1, 4)


def test_tables_are_read_with_times_from_ids_or_from_a_column(tmp_path: Path) -> None:
    (tmp_path / "2013_Bow_River").mkdir()
    (tmp_path / "2013_Bow_River" / "posts.csv").write_text(
        "tweet id, tweet, label\n'347885600000000000',\"#bow, high\",on-topic\n"
    )
    (tmp_path / "other.tsv").write_text("id\ttext\tlabel\ttime\nx\tgood morning\toff-topic\t2013-06-21T12:00:00\n")
    river, other = recorded_events(tmp_path, background="others")
    assert (river.name, river.event_size, river.seeds) == ("2013_Bow_River", 1, ("bow river", "#bowriver"))
    assert river.began.date().isoformat() == "2013-06-21"
    assert (other.name, other.event_size, other.began) == ("other", 0, NOON)
    assert [reading.tokens for reading in river.background(range(1), 1.0)] == [("good", "morning")]


def test_the_sample_of_a_network_shows_little_of_the_event_and_nothing_of_the_future(tmp_path: Path) -> None:
    times = [(NOON + timedelta(minutes=number)).isoformat() for number in range(1_000)]
    rows = [f"{number},post {number},{'off-topic' if number % 2 == 0 else 'on-topic'},{at}" for number, at in enumerate(times)]
    (tmp_path / "flood.csv").write_text("id,text,label,time\n" + "\n".join(rows))
    (network,), (own,) = recorded_events(tmp_path), recorded_events(tmp_path, background="own")
    shown = [int(reading.tokens[1]) for reading in network.background(range(600), 1.0)]
    assert max(shown) < 600
    assert 0 < sum(number % 2 for number in shown) <= 20
    assert len(own.background(range(600), 1.0)) == 600
    with pytest.raises(UserError, match="did you mean 'network'"):
        recorded_events(tmp_path, background="netwrk")
    with pytest.raises(UserError, match="one event"):
        recorded_events(tmp_path, background="others")


def test_parameters_are_chosen_on_the_other_events() -> None:
    streams = [World(Size(hours=0.5, posts=2_000, seed=seed)).stream("relay") for seed in (1, 2)]
    for number, each in enumerate(streams):
        each.name = f"relay{number}"
    found = held_out(streams, Conditions(background=0.25))
    assert found.keys() == {"mean", "relay0", "relay1"}
    assert (found["relay0"]["specific"], found["relay0"]["alike"]) in PARAMETERS


def test_tables_that_cannot_be_read_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no table"):
        recorded_events(tmp_path)
    (tmp_path / "a.csv").write_text("id,words\n1,x\n")
    with pytest.raises(UserError, match="no column label, text"):
        recorded_events(tmp_path)
    (tmp_path / "a.csv").write_text("id,text,label\nx,y,z\n")
    with pytest.raises(UserError, match="tells no time"):
        recorded_events(tmp_path)


def test_seeds_are_given_by_event() -> None:
    assert seeds_by_event(["a=#x", "a=#y", "b=z"]) == {"a": ["#x", "#y"], "b": ["z"]}
    assert seeds_of_name("2013_Queensland_Floods") == ("queensland floods", "#queenslandfloods")
    with pytest.raises(UserError, match="names no event"):
        seeds_by_event(["#x"])


def test_on_a_short_made_up_stream_colift_keeps_the_event_and_leaves_the_noise() -> None:
    """The short form of `bowerbird evaluate keywords`."""
    world = World(Size(hours=1.0, posts=5_000))
    relay = world.stream("relay")
    conditions = Conditions(background=0.25)
    skwa, colift = (replay(relay, method(name), conditions) for name in ("skwa", "colift"))
    found = against_skwa(relay, colift, skwa, world.labels("relay"))
    assert figures(relay, colift)["f1"] > 2 * figures(relay, skwa)["f1"]
    assert found["kept"] >= 0.75
    assert found["removed"] >= 0.9
    assert replay(relay, method("colift"), conditions).collected == colift.collected
