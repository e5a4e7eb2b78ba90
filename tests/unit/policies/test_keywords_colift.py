"""`colift`: judged by searches and a background, on examples small enough to check by hand, and what always holds of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bowerbird.errors import UserError
from bowerbird.model.terms import read_text
from bowerbird.policies.keywords import METHODS, Decision, Frame, FrameCounter, Prober, Sampled, Settings, State, Volume, method
from bowerbird.policies.keywords.relevance import Evidence, Scale, discoveries, relevance, tail, wilson
from marks import examples

NOON = datetime(2013, 6, 21, 12, tzinfo=UTC)
SETTINGS = Settings(slots=5, minimum=2, most=20)
EVENT = [
    "river rising near downtown #flood evacuate now",
    "downtown evacuate order #flood stay safe {}",
    "the river is over the bridge #flood {}",
    "calgary zoo animals and the river #flood {}",
]
ELSEWHERE = ["good morning {} coffee", "watching the game {} tonight", "new song {} out now", "the bus is late again {}"]


def frame(state: State, number: int = 0, probes: dict[str, list[str]] | None = None, volume: Volume | None = None) -> Frame:
    """A frame of forty collected posts and as many from elsewhere; every text is another."""
    began = NOON + number * SETTINGS.frame
    counter = FrameCounter(began, state, SETTINGS)
    for index in range(40):
        counter.add(read_text(f"w{number}x{index} " + EVENT[index % 4].format(f"u{index}")), began)
        counter.sample(read_text(f"v{number}x{index} " + ELSEWHERE[index % 4].format(f"u{index}")), began, share=0.01)
    prober = Prober(state)
    found = [prober.probed(term, [Sampled(text, began) for text in texts], began) for term, texts in (probes or {}).items()]
    return counter.end(found, volume)


RIVER = [f"{index} the river took our downtown street, evacuate" for index in range(30)]
MORNING = [f"{index} morning run by the lake" for index in range(30)]


def after_two(probes: dict[str, list[str]], **options: object) -> Decision:
    colift = method("colift", options)
    first = colift.decides(colift.begins(("#flood",), SETTINGS), frame(colift.begins(("#flood",), SETTINGS)), SETTINGS)
    return colift.decides(first.state, frame(first.state, 1, probes), SETTINGS)


def test_bounds_and_tails_are_those_that_one_reckons_by_hand() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(5, 10) == pytest.approx((0.5 - 0.5 * (1 / 11) ** 0.5, 0.5 + 0.5 * (1 / 11) ** 0.5))
    assert tail(2, 2, 0.5) == 0.25
    assert tail(0, 5, 0.1) == 1.0
    assert Scale(background=0.1, seeds=0.9).place(0.5) == pytest.approx(0.5)
    assert Scale(background=0.1, seeds=0.9).place(0.05) == 0.0


def test_a_discovery_is_beyond_chance_among_all_that_were_tested() -> None:
    tested = {"#much": Evidence(posts=40, alike=20), "#little": Evidence(posts=40, alike=3), "#none": Evidence(posts=40, alike=0)}
    assert discoveries(tested, 0.05) == {"#much"}
    assert discoveries({}, 0.05) == frozenset()
    assert relevance(Evidence(posts=40, alike=20), Scale(background=0.0, seeds=0.5)).value == 1.0


def test_it_asks_for_specific_words_and_never_for_common_ones() -> None:
    colift = method("colift")
    state = colift.begins(("#flood",), SETTINGS)
    asked = colift.decides(state, frame(state), SETTINGS).probes
    assert {"river", "downtown", "evacuate"} <= set(asked)
    assert not {"the", "is", "now", "#flood"} & set(asked)


def test_a_word_whose_posts_look_like_the_event_comes_in_and_says_why() -> None:
    decision = after_two({"river": RIVER, "morning": MORNING})
    assert [each.term for each in decision.entries] == ["river"]
    entry = decision.entries[0]
    assert entry.numbers["low"] >= entry.numbers["threshold"]
    assert "look like the event" in entry.reason


def test_a_word_whose_posts_are_about_something_else_stays_out() -> None:
    decision = after_two({"river": [f"{index} lazy river song" for index in range(30)]})
    assert not decision.entries
    assert {each.term: each.verdict for each in decision.candidates}["river"] == "within chance"


def test_a_term_that_brings_nothing_new_stays_out() -> None:
    decision = after_two({"river": [f"{text} #flood" for text in RIVER]})
    assert {each.term: each.verdict for each in decision.candidates}["river"] == "covered"


def test_hashtags_alone_may_be_asked_for() -> None:
    assert all(term[0] == "#" for term in after_two({}, words=False).probes)


def test_a_plural_of_a_keyword_needs_fewer_posts_of_its_own() -> None:
    few = [f"{index} high water downtown, evacuate" for index in range(4)] + [f"{index} a nice day" for index in range(3)]
    colift = method("colift")
    begun = colift.begins(("#flood",), SETTINGS)
    frames: dict[str, Decision] = {}
    for word in ("#floods", "#deluge"):
        state = colift.decides(begun, frame(begun), SETTINGS).state
        counter = FrameCounter(NOON + SETTINGS.frame, state, SETTINGS)
        for index in range(40):
            counter.add(read_text(f"z{index} " + EVENT[index % 4].format(f"{word} u{index}")), NOON + SETTINGS.frame)
        probes = [Prober(state).probed(word, [Sampled(f"{text} {word}", NOON) for text in few], NOON)]
        frames[word] = colift.decides(state, counter.end(probes), SETTINGS)
    low = {word: next(each.numbers["low"] for each in found.candidates if each.term == word) for word, found in frames.items()}
    assert low["#floods"] > low["#deluge"]


def flooded(state: State, number: int, lost: int) -> Frame:
    """A full stream: half of what comes are posts about songs with a word that is followed."""
    began = NOON + number * SETTINGS.frame
    counter = FrameCounter(began, state, SETTINGS)
    for index in range(40):
        text = EVENT[index % 4].format(f"u{index}") if index % 2 else f"river of songs {index} tonight"
        counter.add(read_text(f"y{number}x{index} {text}"), began)
    return counter.end((), Volume(used=40, cap=40, lost=lost))


def test_a_full_stream_lets_go_whoever_costs_the_event_more_than_they_bring() -> None:
    colift = method("colift")
    state = after_two({"river": RIVER}).state
    assert "river" in state.keywords
    held = colift.decides(state, frame(state, 2, volume=Volume(used=40, cap=40, lost=40)), SETTINGS)
    # All that it brings carries a seed too: without it nothing more would come.
    assert not held.exits
    full = colift.decides(state, flooded(state, 2, lost=40), SETTINGS)
    assert [each.term for each in full.exits] == ["river"]
    assert "stream is full" in full.exits[0].reason
    assert not colift.decides(state, flooded(state, 2, lost=0), SETTINGS).exits


def test_a_wanted_precision_is_the_threshold() -> None:
    assert after_two({}, precision=0.9).numbers["threshold"] == 0.9
    with pytest.raises(UserError, match="between 0 and 1"):
        method("colift", {"precision": 80})


def test_without_a_background_words_cannot_prove_themselves() -> None:
    colift = method("colift")
    state = colift.begins(("#flood",), SETTINGS)
    counter = FrameCounter(NOON, state, SETTINGS)
    for index in range(9):
        counter.add(read_text(f"{index} river #flood #abflood"), NOON)
    assert colift.decides(state, counter.end(), SETTINGS).probes == ("#abflood",)


TERMS = [f"#t{number}" for number in range(12)]
posts = st.lists(st.tuples(st.lists(st.sampled_from(TERMS), min_size=1, max_size=4), st.integers(0, 4)), max_size=30)


@settings(max_examples=examples(25), deadline=None)
@given(frames=st.lists(posts, min_size=1, max_size=5), name=st.sampled_from(sorted(METHODS)), most=st.integers(2, 6))
def test_no_method_has_too_many_keywords_or_loses_a_seed_or_takes_what_is_blacklisted(
    frames: list[list[tuple[list[str], int]]], name: str, most: int
) -> None:
    rules = Settings(slots=5, minimum=1, most=most, quiet_frames=2, blacklist=("#t11",))
    chosen = method(name)
    state = chosen.begins(("#t0", "#t1"), rules)
    for number, each in enumerate(frames):
        began = NOON + number * rules.frame
        counter = FrameCounter(began, state, rules, chosen.kinds)
        for tags, minute in each:
            counter.add(read_text(" ".join(tags)), began + timedelta(minutes=minute))
        prober = Prober(state)
        probes = [prober.probed(tag, [Sampled(f"{tag} #t0 {index}", began) for index in range(9)], began) for tag in TERMS]
        decision = chosen.decides(state, counter.end(probes), rules)
        came, left = {change.term for change in decision.entries}, {change.term for change in decision.exits}
        assert set(decision.state.keywords) == (set(state.keywords) | came) - left
        state = msgspec.json.decode(msgspec.json.encode(decision.state), type=State)
        assert state == decision.state
        assert len(state.keywords) <= most
        assert {"#t0", "#t1"} <= set(state.keywords)
        assert "#t11" not in state.keywords
