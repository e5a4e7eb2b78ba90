"""The rules of the keyword set, and the published methods except RKwA, on small examples."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from keyword_frames import NOON, frame_of, frame_with_counts

from bowerbird.errors import UserError
from bowerbird.keywords.counting import count_posts, count_together
from bowerbird.keywords.keyword_set import follow_order, replace_seeds
from bowerbird.keywords.methods import ABOUT, METHODS, make_method
from bowerbird.keywords.values import Decision, Settings, State
from bowerbird.model.terms import read_text

SETTINGS = Settings(slots=5, min_posts=2, max_keywords=4, quiet_frames=2)


def test_count_posts_counts_hashtags_and_keywords_by_slot() -> None:
    state = replace_seeds(State(), ("#Olympics", "gold"), SETTINGS)
    texts = [
        ("#olympics #Phelps gold", 0),
        ("#Olympics #phelps", 4),
        ("gold #olympics #olympics", 4),
        ("#olympics silver", 9),
    ]
    frame = frame_of(texts, SETTINGS)
    counts = count_posts(state, frame, SETTINGS)
    assert counts.by_slot == {
        "#olympics": (1, 0, 0, 0, 3),
        "#phelps": (1, 0, 0, 0, 1),
        "gold": (1, 0, 0, 0, 1),
    }
    assert counts.total["#olympics"] == 4
    assert counts.keywords[0] == {"#olympics", "gold"}
    hashtags = [each.reading.hashtags for each in frame.posts]
    together = count_together(["#phelps"], hashtags, counts.keywords)
    assert together == {"#phelps": {"#olympics": 2, "gold": 1}}


def test_decision_survives_encoding_as_json() -> None:
    skwa = make_method("skwa")
    frame = frame_with_counts({"#a": (9,) * 5, "#b": (1,) * 5}, SETTINGS)
    decision = skwa(replace_seeds(State(), ("#a",), SETTINGS), frame, SETTINGS)
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision


def test_baseline_never_changes() -> None:
    baseline = make_method("baseline")
    state = replace_seeds(State(), ("#a",), SETTINGS)
    for number in range(5):
        frame = frame_with_counts({"#b": (9,) * 5}, SETTINGS, number)
        state = baseline(state, frame, SETTINGS).state
    assert set(state.keywords) == {"#a"}
    assert state.frames == 5


def test_skwa_adds_the_most_frequent_hashtags_up_to_the_limit() -> None:
    skwa = make_method("skwa")
    counts = {
        "#a": (9,) * 5,
        "#b": (1,) * 5,
        "#c": (2,) * 5,
        "#d": (1, 1, 1, 1, 0),
        "#once": (1, 0, 0, 0, 0),
        "word": (9,) * 5,
        "#no": (9,) * 5,
    }
    settings = msgspec.structs.replace(SETTINGS, blacklist=("#no",), max_keywords=3)
    frame = frame_with_counts(counts, settings)
    decision = skwa(replace_seeds(State(), ("#a",), settings), frame, settings)
    assert [(each.term, each.numbers["posts_in_frame"]) for each in decision.entries] == [
        ("#c", 10),
        ("#b", 5),
    ]
    assert [(each.term, each.verdict) for each in decision.candidates] == [
        ("#c", "enters"),
        ("#b", "enters"),
        ("#d", "full"),
    ]
    assert decision.state.keywords["#c"].since == NOON + timedelta(minutes=5)


def test_skwa_drops_quiet_keywords_but_not_seeds_and_pinned_keywords() -> None:
    skwa = make_method("skwa")
    state = follow_order(replace_seeds(State(), ("#a",), SETTINGS), "pin", "#pinned")
    frames = [{"#b": (1,) * 5, "#c": (1,) * 5}, {"#c": (1,) * 5}, {"#c": (1, 1, 0, 0, 0)}]
    for number, counts in enumerate(frames):
        decision = skwa(state, frame_with_counts(counts, SETTINGS, number), SETTINGS)
        state = decision.state
    assert [each.term for each in decision.exits] == ["#b"]
    assert set(state.keywords) == {"#a", "#pinned", "#c"}
    assert state.keywords["#c"].posts == 12


def test_quiet_seeds_leave_if_the_settings_allow_it() -> None:
    settings = msgspec.structs.replace(SETTINGS, may_drop_seeds=True)
    skwa = make_method("skwa")
    state = replace_seeds(State(), ("#a",), settings)
    for number in range(2):
        state = skwa(state, frame_of([], settings, number), settings).state
    assert not state.keywords


def test_blocked_terms_leave_and_return_after_release() -> None:
    skwa = make_method("skwa")
    state = replace_seeds(State(), ("#a",), SETTINGS)
    state = follow_order(follow_order(state, "pin", "#b"), "block", "#b")
    assert set(state.keywords) == {"#a"}
    busy = frame_with_counts({"#b": (9,) * 5}, SETTINGS)
    assert not skwa(state, busy, SETTINGS).entries
    released = skwa(follow_order(state, "free", "#b"), busy, SETTINGS)
    assert [each.term for each in released.entries] == ["#b"]


@pytest.mark.parametrize("name", ["skwa", "naive"])
@pytest.mark.parametrize("invalid", ["bad tag {}", "{}" + "x" * 100, "\u202e{}x"])
def test_invalid_hashtags_leave_room_for_others(name: str, invalid: str) -> None:
    tags = [invalid.format(number) for number in range(30)]
    tagged = frame_of(["#a"] * 9, SETTINGS).posts
    posts = [msgspec.structs.replace(each, reading=read_text("#a", tags)) for each in tagged]
    frame = frame_of(["#a #b"] * 5, SETTINGS)
    frame = msgspec.structs.replace(frame, posts=(*posts, *frame.posts))
    decision = make_method(name)(replace_seeds(State(), ("#a",), SETTINGS), frame, SETTINGS)
    assert set(decision.state.keywords) == {"#a", "#b"}


def test_seed_that_was_blocked_returns_after_release() -> None:
    state = follow_order(replace_seeds(State(), ("#a", "#b"), SETTINGS), "block", "#a")
    assert set(state.keywords) == {"#b"}
    assert set(follow_order(state, "free", "#a").keywords) == {"#a", "#b"}


def test_naive_adds_hashtags_seen_four_times_within_a_day() -> None:
    naive = make_method("naive")
    state = replace_seeds(State(), ("#a",), SETTINGS)
    first = frame_of(["#a #b", "#a #b #old"], SETTINGS)
    second = frame_of(["#a #b", "#a #b"], SETTINGS, 1, earlier=first.posts)
    assert not naive(state, first, SETTINGS).entries
    decision = naive(state, second, SETTINGS)
    assert [(each.term, each.numbers["posts_in_a_day"]) for each in decision.entries] == [("#b", 4)]
    tomorrow = frame_of(["#a #b"] * 2, SETTINGS, 289, earlier=first.posts)
    assert not naive(state, tomorrow, SETTINGS).entries


def test_spellings_of_a_user_and_of_posts_are_stored() -> None:
    skwa = make_method("skwa")
    state = replace_seeds(replace_seeds(State(), ("#inundacion",), SETTINGS), ("#Inundación", "#plain"), SETTINGS)
    assert state.keywords["#inundacion"].spellings == ("#inundación",)
    frame = frame_of(["#rio"] * 3, SETTINGS, spellings={"#rio": ("#río",)})
    after = skwa(state, frame, SETTINGS).state
    assert after.keywords["#rio"].spellings == ("#río",)


def test_every_method_has_a_description() -> None:
    assert ABOUT.keys() == METHODS.keys()
    assert all(ABOUT.values())


@pytest.mark.parametrize("seeds", [("!!",), ("#2020",), (), ("a", "b", "c", "d", "e")])
def test_invalid_seeds_raise(seeds: tuple[str, ...]) -> None:
    with pytest.raises(UserError):
        replace_seeds(State(), seeds, SETTINGS)


def test_unknown_method_raises() -> None:
    with pytest.raises(UserError):
        make_method("best")


@pytest.mark.parametrize(
    ("name", "option", "value"), [("rkwa", "thres1", 2), ("rkwa", "reading", "backwards"), ("burst", "precision", 80)]
)
def test_invalid_values_of_options_are_named(name: str, option: str, value: object) -> None:
    assert METHODS[name][option].problem(value)


def test_begin_refuses_a_seed_of_the_blacklist() -> None:
    with pytest.raises(UserError):
        replace_seeds(State(), ("#flood", "#win"), Settings(blacklist=("#win",)))
