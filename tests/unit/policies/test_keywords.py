"""Keyword adaptation: what is counted in a frame, and what the published methods make of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from bowerbird.errors import UserError
from bowerbird.model.terms import read_text
from bowerbird.policies.keywords import (
    ABOUT,
    METHODS,
    Decision,
    Frame,
    FrameCounter,
    Sampled,
    Settings,
    State,
    blocked,
    freed,
    method,
    pinned,
    probed,
)

NOON = datetime(2012, 8, 4, 12, tzinfo=UTC)
SETTINGS = Settings(slots=5, minimum=2, most=4, quiet_frames=2)


def frame(counts: dict[str, tuple[int, ...]], number: int = 0) -> Frame:
    return Frame(began=NOON + number * SETTINGS.frame, length=SETTINGS.frame, posts=(9,) * 5, counts=counts)


def counted(texts: list[tuple[str, int]], state: State) -> Frame:
    counter = FrameCounter(NOON, state, SETTINGS)
    for text, minute in texts:
        counter.add(read_text(text), NOON + timedelta(minutes=minute))
    return counter.end()


def test_a_frame_counts_terms_by_slot_and_with_which_keywords_they_came() -> None:
    state = method("skwa").begins(("#Olympics",), SETTINGS)
    found = counted(
        [("#olympics #Phelps gold", 0), ("#Olympics #phelps", 4), ("gold #olympics #olympics", 4), ("#olympics", 9)], state
    )
    assert found.posts == (1, 0, 0, 0, 3)
    assert found.counts["#olympics"] == (1, 0, 0, 0, 3)
    assert found.counts["#phelps"] == (1, 0, 0, 0, 1)
    assert found.counts["gold"] == (1, 0, 0, 0, 1)
    assert found.together["#phelps"] == {"#olympics": 2}


def test_the_same_post_is_counted_once() -> None:
    counter = FrameCounter(NOON, method("skwa").begins(("#a",), SETTINGS), SETTINGS)
    for _ in range(2):
        counter.add(read_text("#a"), NOON, key="1")
    assert counter.end().posts == (1, 0, 0, 0, 0)


def test_the_background_is_counted_apart() -> None:
    counter = FrameCounter(NOON, method("skwa").begins(("#a",), SETTINGS), SETTINGS)
    counter.add(read_text("#a #b"), NOON)
    for text in ("#b", "#c", "#a"):
        counter.sample(read_text(text), NOON, share=0.01)
    background = counter.end().background
    assert background is not None
    assert (background.posts[0], background.alike, background.share) == (3, 1, 0.01)
    # What carries a seed is the event, and no part of what is written elsewhere.
    assert (background.texts, background.distinct) == ({"#b": 1, "#c": 1}, 2)


def test_of_a_crowd_hashtags_are_counted_and_words_reckoned_from_a_part() -> None:
    state = method("colift").begins(("#a",), SETTINGS)
    counter = FrameCounter(NOON, state, SETTINGS)
    for number in range(1_000):
        counter.add(read_text(f"#a #b{number % 2} word{number % 2}"), NOON)
    found = counter.end()
    assert (found.posts[0], found.count("#a"), found.count("#b0")) == (1_000, 1_000, 500)
    assert sum(found.judged.values()) < 200
    assert found.count("word0") + found.count("word1") == pytest.approx(1_000, abs=2)


def test_a_probe_counts_texts_once_and_other_core_terms_only() -> None:
    state = method("baseline").begins(("#flood", "calgary"), SETTINGS)
    posts = [Sampled(text, NOON) for text in ("#flood in town", "#flood in town", "calgary #flood", "#flood again")]
    probe = probed("#flood", posts, state, NOON)
    assert (probe.posts, probe.alike, probe.new) == (3, 1, 0)


def test_state_and_decisions_survive_being_written_down() -> None:
    skwa = method("skwa")
    decision = skwa.decides(skwa.begins(("#a",), SETTINGS), frame({"#a": (9,) * 5, "#b": (1,) * 5}), SETTINGS)
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision


def test_baseline_never_changes() -> None:
    baseline = method("baseline")
    state = baseline.begins(("#a",), SETTINGS)
    for number in range(5):
        state = baseline.decides(state, frame({"#b": (9,) * 5}, number), SETTINGS).state
    assert set(state.keywords) == {"#a"}


def test_skwa_takes_the_most_frequent_hashtags_that_there_is_room_for() -> None:
    skwa = method("skwa")
    counts = {
        "#a": (9,) * 5,
        "#b": (1,) * 5,
        "#c": (2,) * 5,
        "#d": (1, 1, 1, 1, 0),
        "#once": (1, 0, 0, 0, 0),
        "word": (9,) * 5,
        "#no": (9,) * 5,
    }
    settings = msgspec.structs.replace(SETTINGS, blacklist=("#no",), most=3)
    decision = skwa.decides(skwa.begins(("#a",), settings), frame(counts), settings)
    assert [(each.term, each.numbers["count"]) for each in decision.entries] == [("#c", 10), ("#b", 5)]
    assert [(each.term, each.verdict) for each in decision.candidates] == [("#c", "enters"), ("#b", "enters"), ("#d", "full")]
    assert decision.state.keywords["#c"].since == NOON + timedelta(minutes=5)


def test_skwa_lets_go_of_what_was_quiet_for_long_and_keeps_seeds_and_pinned_terms() -> None:
    skwa = method("skwa")
    state = pinned(skwa.begins(("#a",), SETTINGS), "#Pinned")
    state = skwa.decides(state, frame({"#b": (1,) * 5, "#c": (1,) * 5}), SETTINGS).state
    state = skwa.decides(state, frame({"#c": (1,) * 5}, 1), SETTINGS).state
    last = skwa.decides(state, frame({"#c": (1, 1, 0, 0, 0)}, 2), SETTINGS)
    assert [each.term for each in last.exits] == ["#b"]
    assert set(last.state.keywords) == {"#a", "#pinned", "#c"}
    assert last.state.keywords["#c"].posts == 12


def test_blocked_terms_leave_and_stay_out_until_they_are_freed() -> None:
    skwa = method("skwa")
    state = blocked(pinned(skwa.begins(("#a",), SETTINGS), "#b"), "#B")
    assert set(state.keywords) == {"#a"}
    busy = frame({"#b": (9,) * 5})
    assert not skwa.decides(state, busy, SETTINGS).entries
    assert [each.term for each in skwa.decides(freed(state, "#b"), busy, SETTINGS).entries] == ["#b"]


def test_every_method_says_in_one_sentence_what_it_follows() -> None:
    assert ABOUT.keys() == METHODS.keys()
    assert not [words for words in ABOUT.values() if "." in words or not words]


def test_bad_seeds_methods_and_options_are_refused_in_words() -> None:
    with pytest.raises(UserError, match="is no keyword"):
        method("skwa").begins(("!!",), SETTINGS)
    with pytest.raises(UserError, match="at least one seed"):
        method("skwa").begins((), SETTINGS)
    with pytest.raises(UserError, match="at most 4"):
        method("skwa").begins(("a", "b", "c", "d", "e"), SETTINGS)
    with pytest.raises(UserError, match="choose one of baseline"):
        method("best")
    with pytest.raises(UserError, match="no option 'speed'"):
        method("skwa", {"speed": 1})
