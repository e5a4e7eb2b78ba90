"""The rules of the keyword set, and the published methods except RKwA, on small examples."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from keyword_frames import NOON, frame_of, frame_with_counts

from bowerbird.errors import UserError
from bowerbird.keywords.counting import count_posts, count_together
from bowerbird.keywords.keyword_set import add_spellings, block, pin, release
from bowerbird.keywords.methods import ABOUT, METHODS, make_method
from bowerbird.keywords.values import Decision, Settings

SETTINGS = Settings(slots=5, min_posts=2, max_keywords=4, quiet_frames=2)


def test_count_posts_counts_hashtags_and_keywords_by_slot() -> None:
    state = make_method("skwa").begin(("#Olympics", "gold"), SETTINGS)
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
    decision = skwa.decide(skwa.begin(("#a",), SETTINGS), frame, SETTINGS)
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision


def test_baseline_never_changes() -> None:
    baseline = make_method("baseline")
    state = baseline.begin(("#a",), SETTINGS)
    for number in range(5):
        frame = frame_with_counts({"#b": (9,) * 5}, SETTINGS, number)
        state = baseline.decide(state, frame, SETTINGS).state
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
    decision = skwa.decide(skwa.begin(("#a",), settings), frame, settings)
    assert [(each.term, each.numbers["count"]) for each in decision.entries] == [
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
    state = pin(skwa.begin(("#a",), SETTINGS), "#Pinned")
    frames = [{"#b": (1,) * 5, "#c": (1,) * 5}, {"#c": (1,) * 5}, {"#c": (1, 1, 0, 0, 0)}]
    for number, counts in enumerate(frames):
        decision = skwa.decide(state, frame_with_counts(counts, SETTINGS, number), SETTINGS)
        state = decision.state
    assert [each.term for each in decision.exits] == ["#b"]
    assert set(state.keywords) == {"#a", "#pinned", "#c"}
    assert state.keywords["#c"].posts == 12


def test_quiet_seeds_leave_if_the_settings_allow_it() -> None:
    settings = msgspec.structs.replace(SETTINGS, may_drop_seeds=True)
    skwa = make_method("skwa")
    state = skwa.begin(("#a",), settings)
    for number in range(2):
        state = skwa.decide(state, frame_of([], settings, number), settings).state
    assert not state.keywords


def test_blocked_terms_leave_and_return_after_release() -> None:
    skwa = make_method("skwa")
    state = block(pin(skwa.begin(("#a",), SETTINGS), "#b"), "#B")
    assert set(state.keywords) == {"#a"}
    busy = frame_with_counts({"#b": (9,) * 5}, SETTINGS)
    assert not skwa.decide(state, busy, SETTINGS).entries
    released = skwa.decide(release(state, "#b"), busy, SETTINGS)
    assert [each.term for each in released.entries] == ["#b"]


def test_naive_adds_hashtags_seen_four_times_within_a_day() -> None:
    naive = make_method("naive")
    state = naive.begin(("#a",), SETTINGS)
    first = frame_of(["#a #b", "#a #b #old"], SETTINGS)
    second = frame_of(["#a #b", "#a #b"], SETTINGS, 1, earlier=first.posts)
    assert not naive.decide(state, first, SETTINGS).entries
    decision = naive.decide(state, second, SETTINGS)
    assert [(each.term, each.numbers["count"]) for each in decision.entries] == [("#b", 4)]
    tomorrow = frame_of(["#a #b"] * 2, SETTINGS, 289, earlier=first.posts)
    assert not naive.decide(state, tomorrow, SETTINGS).entries


def test_spellings_of_a_user_and_of_posts_are_stored() -> None:
    skwa = make_method("skwa")
    state = add_spellings(skwa.begin(("#inundacion",), SETTINGS), ["#Inundación", "#plain"])
    assert state.keywords["#inundacion"].spellings == ("#inundación",)
    frame = frame_of(["#rio"] * 3, SETTINGS, spellings={"#rio": ("#río",)})
    after = skwa.decide(state, frame, SETTINGS).state
    assert after.keywords["#rio"].spellings == ("#río",)


def test_every_method_has_a_description() -> None:
    assert ABOUT.keys() == METHODS.keys()
    assert all(ABOUT.values())


@pytest.mark.parametrize("seeds", [("!!",), (), ("a", "b", "c", "d", "e")])
def test_invalid_seeds_raise(seeds: tuple[str, ...]) -> None:
    with pytest.raises(UserError):
        make_method("skwa").begin(seeds, SETTINGS)


@pytest.mark.parametrize(("name", "options"), [("best", {}), ("skwa", {"speed": 1}), ("rkwa", {"thres1": 2})])
def test_unknown_methods_and_options_raise(name: str, options: dict[str, object]) -> None:
    with pytest.raises(UserError):
        make_method(name, options)


def test_begin_refuses_a_seed_of_the_blacklist() -> None:
    with pytest.raises(UserError):
        make_method("skwa").begin(("#flood", "#win"), Settings(blacklist=("#win",)))
