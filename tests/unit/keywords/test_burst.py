"""Burst on small events made by hand, and what always holds."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from keyword_frames import NOON, post

from bowerbird.keywords.burst import decode_memory
from bowerbird.keywords.keyword_set import follow_order, replace_seeds
from bowerbird.keywords.methods import make_method
from bowerbird.keywords.values import Decision, Frame, Post, Probe, Settings, State
from marks import examples

SETTINGS = Settings(max_keywords=20)
EVENT = (
    "zorblat rises downtown evacuate families {}",
    "zorblat bridge closed after the river rises {}",
    "zorblat shelter opens downtown for families {}",
    "zorblat evacuate downtown now shelter {}",
)
ELSEWHERE = (
    "good morning coffee with friends {}",
    "watching the game tonight {}",
    "new song out now listen {}",
    "bus late again so tired {}",
)


class Network:
    """Posts of an event with the seed `#flood`, posts of the event without it, and others."""

    def __init__(self, seed: int = 1) -> None:
        self._random = Random(seed)

    def text(self, patterns: tuple[str, ...], extra: str = "") -> str:
        letters = "".join(self._random.choices("bcdfghjklmnp", k=6))
        return f"{letters} {self._random.choice(patterns).format(extra)}"

    def frame(self, number: int, collected: list[str], others: list[str], has_background: bool = True) -> Frame:
        start = NOON + number * SETTINGS.frame
        at = start + timedelta(minutes=1)
        background = tuple(post(text, at) for text in others) if has_background else ()
        return Frame(
            start=start,
            length=SETTINGS.frame,
            posts=tuple(post(text, at) for text in collected),
            background=background,
            volumes=(len(background),) if has_background else (),
        )

    def first(self, number: int = 0, has_background: bool = True, **changes: Any) -> Frame:
        """Forty posts with the seed; a background with ten of them, twenty others of the event, and many others."""
        collected = [self.text(EVENT, "#flood") for _ in range(40)]
        others = collected[:10] + [self.text(EVENT) for _ in range(20)] + [self.text(ELSEWHERE) for _ in range(200)]
        frame = self.frame(number, collected, others, has_background)
        return msgspec.structs.replace(frame, **changes)


def decide(frame: Frame, state: State | None = None, **options: object) -> Decision:
    burst = make_method("burst", options)
    return burst(state or replace_seeds(State(), ("#flood",), SETTINGS), frame, SETTINGS)


def test_word_that_bursts_and_looks_like_the_event_enters_with_a_reason() -> None:
    decision = decide(Network().first())
    entered = {entry.term: entry for entry in decision.entries}
    assert "zorblat" in entered
    numbers = entered["zorblat"].numbers
    assert numbers["low"] >= 0.6
    assert numbers["posts_only_it_found"] > 10 * numbers["expected"]
    keyword = decision.state.keywords["zorblat"]
    assert keyword.since == NOON + SETTINGS.frame
    assert keyword.precision is not None
    assert f"{100 * keyword.precision.mean:.0f} %" in entered["zorblat"].reason
    verdicts = {each.term: each.verdict for each in decision.candidates}
    assert verdicts["zorblat"] == "enters"


def test_low_threshold_admits_no_term_that_would_leave_at_once() -> None:
    """With `precision` below the bound for exits, ordinary hashtags entered and left in turn."""
    network = Network()
    frame = network.first()
    everyday = [post(network.text(ELSEWHERE, "#monday"), frame.posts[0].at) for _ in range(60)]
    collected = [post(network.text(EVENT, "#flood #monday"), each.at) for each in frame.posts]
    frame = msgspec.structs.replace(frame, posts=tuple(collected), background=(*frame.background, *everyday))
    decision = decide(frame, precision=0.05)
    precisions = [keyword.precision.mean for keyword in decision.state.keywords.values() if keyword.precision]
    assert min(precisions) >= decision.numbers["leaves_below"]
    assert decision.numbers["hashtag_enters_from"] == 0


def test_everyday_word_without_a_burst_stays_out() -> None:
    """`families` is in half of the event's posts, and no more frequent than usual elsewhere."""
    network = Network()
    frame = network.first()
    everyday = [post(network.text(ELSEWHERE, "time"), frame.posts[0].at) for _ in range(60)]
    collected = [post(network.text(EVENT, "#flood time"), each.at) for each in frame.posts]
    frame = msgspec.structs.replace(frame, posts=tuple(collected), background=(*frame.background, *everyday))
    decision = decide(frame)
    assert "time" not in decision.state.keywords


def test_bursting_word_whose_posts_are_about_something_else_stays_out() -> None:
    network = Network()
    frame = network.first()
    other = [post(network.text(ELSEWHERE, "quixel"), frame.posts[0].at) for _ in range(60)]
    other += [post(network.text(ELSEWHERE, "quixel #flood"), frame.posts[0].at) for _ in range(10)]
    few = [post(network.text(EVENT, "#flood quixel"), frame.posts[0].at) for _ in range(6)]
    frame = msgspec.structs.replace(
        frame,
        posts=(*frame.posts, *few),
        background=(*frame.background, *other),
        volumes=(len(frame.background) + len(other),),
    )
    decision = decide(frame)
    verdicts = {each.term: each.verdict for each in decision.candidates}
    assert verdicts["quixel"] == "unlike the event"
    # What bursts and stays out is a sign of other events at the same time.
    assert decision.numbers["crowding"] > 0.1 > decide(Network().first()).numbers["crowding"]
    assert "quixel" not in decision.state.keywords


def test_everyday_word_of_a_language_without_a_table_stays_out() -> None:
    """`zuvor` is in no table, so its sixty posts burst. Few of them have the seed."""
    network = Network()
    frame = network.first()
    foreign = [post(network.text(("zuvor heim kommt spaet {}",)), frame.posts[0].at) for _ in range(60)]
    few = [post(network.text(EVENT, "#flood zuvor"), frame.posts[0].at) for _ in range(4)]
    background = (*frame.background, *foreign, *few)
    frame = msgspec.structs.replace(frame, posts=(*frame.posts, *few), background=background, volumes=(len(background),))
    decision = decide(frame)
    verdicts = {each.term: each.verdict for each in decision.candidates}
    assert verdicts["zuvor"] == "apart from the event"
    assert verdicts["zorblat"] == "enters"


def test_keyword_without_posts_leaves_as_quiet_and_returns() -> None:
    network = Network()
    first = network.first()
    state = decide(first).state
    assert "zorblat" in state.keywords
    earlier = first.posts
    exits = {}
    for number in range(1, 25):
        seeds = [network.text(("river rises downtown evacuate families {}",), "#flood") for _ in range(3)]
        frame = network.frame(number, seeds, [network.text(ELSEWHERE) for _ in range(30)])
        decision = decide(msgspec.structs.replace(frame, earlier=earlier), state)
        state, earlier = decision.state, (*earlier, *frame.posts)
        exits |= {each.term: each.reason for each in decision.exits}
    assert exits["zorblat"].startswith("quiet")
    assert "#flood" in state.keywords
    for number in range(25, 30):
        patterns = ("zorblat sirens heard {}", "zorblat again {}")
        seeds = [network.text(patterns, "#flood") for _ in range(20)]
        others = seeds[:10] + [network.text(patterns) for _ in range(20)] + [network.text(ELSEWHERE) for _ in range(200)]
        frame = network.frame(number, seeds, others)
        state = decide(msgspec.structs.replace(frame, earlier=earlier), state).state
        earlier = (*earlier, *frame.posts)
    assert "zorblat" in state.keywords


def test_keyword_that_turns_to_noise_leaves() -> None:
    network = Network()
    state = decide(network.first()).state
    assert "zorblat" in state.keywords
    earlier: tuple[Post, ...] = ()
    for number in range(1, 8):
        noise = [network.text(ELSEWHERE, "zorblat") for _ in range(80)]
        seeds = [network.text(("river rises downtown evacuate families {}",), "#flood") for _ in range(20)]
        others = [network.text(ELSEWHERE) for _ in range(200)]
        frame = network.frame(number, seeds + noise, others)
        decision = decide(msgspec.structs.replace(frame, earlier=earlier), state)
        earlier = (*earlier, *frame.posts)
        state = decision.state
        if decision.exits:
            break
    exits = {each.term: each for each in decision.exits}
    assert exits["zorblat"].numbers["precision"] < 0.4
    assert "zorblat" not in state.keywords
    assert "#flood" in state.keywords


def test_without_a_background_controls_and_candidates_are_probed() -> None:
    decision = decide(without_background(Network(), 0))
    assert set(decision.state.keywords) == {"#flood"}
    assert decision.probes[0] == "about"
    assert {"zorblat", "shelter"} <= set(decision.probes[1:])
    assert len(decision.probes) <= 20


def test_without_a_background_a_term_enters_by_its_probe_and_a_control() -> None:
    network = Network()
    first, second = without_background(network, 0), without_background(network, 1)
    state = decide(first).state

    def answer(term: str, patterns: tuple[str, ...], span: timedelta) -> Probe:
        """Forty posts, evenly over `span`, ten of them with the seed."""
        times = [second.start - span * (39 - number) / 39 for number in range(40)]
        texts = [network.text(patterns, f"{term} #flood" if number % 4 == 0 else term) for number in range(40)]
        return Probe(term=term, at=second.start, posts=tuple(map(post, texts, times)))

    candidates = (
        answer("zorblat", EVENT, timedelta(minutes=10)),
        answer("bridge", ELSEWHERE, timedelta(minutes=10)),
    )
    control = answer("about", ELSEWHERE, timedelta(minutes=5))
    without = msgspec.structs.replace(second, earlier=first.posts, probes=candidates)
    assert not decide(without, state).entries
    decision = decide(msgspec.structs.replace(without, probes=(control, *candidates)), state)
    assert {entry.term for entry in decision.entries} == {"zorblat"}
    assert {each.term: each.verdict for each in decision.candidates}["bridge"] == "unlike the event"


def without_background(network: Network, number: int) -> Frame:
    collected = [network.text(EVENT, "about #flood") for _ in range(40)]
    return network.frame(number, collected, [], has_background=False)


def test_few_posts_change_nothing() -> None:
    frame = Network().first()
    decision = decide(msgspec.structs.replace(frame, posts=frame.posts[:5]))
    assert set(decision.state.keywords) == {"#flood"}
    assert not decision.probes


def test_option_words_allows_hashtags_only() -> None:
    decision = decide(Network().first(), words=False)
    assert all(term[0] == "#" for term in (*decision.state.keywords, *decision.probes))


def test_option_precision_is_the_threshold() -> None:
    assert not decide(Network().first(), precision=0.99).entries


def test_pinned_terms_stay_and_blocked_terms_do_not_enter() -> None:
    state = replace_seeds(State(), ("#flood",), SETTINGS)
    state = follow_order(follow_order(state, "pin", "coffee"), "block", "zorblat")
    decision = decide(Network().first(), state)
    assert "coffee" in decision.state.keywords
    assert "zorblat" not in decision.state.keywords


def test_precision_of_the_collection_is_claimed_with_its_bounds() -> None:
    decision = decide(Network().first())
    claim = decision.state.precision
    assert claim is not None
    assert 0 < claim.low <= claim.mean <= claim.high <= 1
    assert claim.posts == 40


def test_claim_for_the_collection_outlives_the_memory() -> None:
    network = Network()
    state = decide(network.first()).state
    forgotten = msgspec.structs.replace(state, memory=b"")
    claim = decide(network.first(1), forgotten).state.precision
    assert claim is not None
    assert claim.posts == 80


def test_memory_is_bounded_and_contains_no_text() -> None:
    network = Network()
    state = decide(network.first()).state
    for number in range(1, 4):
        state = decide(network.first(number), state).state
    memory = decode_memory(state.memory)
    assert len(state.memory) < 100_000
    assert len(memory.features) <= 6_000
    assert len(memory.candidates) <= 1_000
    words = {*memory.features, *memory.candidates}
    assert max(len(term.split(" ")) for term in words) <= 2
    assert msgspec.json.decode(msgspec.json.encode(state), type=State) == state


def test_order_of_simultaneous_posts_does_not_matter() -> None:
    frame = Network().first()
    shuffled = msgspec.structs.replace(frame, posts=frame.posts[::-1], background=frame.background[::-1])
    assert decide(shuffled) == decide(frame)


TAGS = [f"#tag{letter}" for letter in "abcdefgh"]
texts = st.lists(
    st.lists(st.sampled_from([*TAGS, "alpha", "beta", "gamma", "delta"]), min_size=1, max_size=5),
    max_size=40,
)


@settings(max_examples=examples(25), deadline=None)
@given(
    frames=st.lists(st.tuples(texts, texts), min_size=1, max_size=4),
    name=st.sampled_from(["skwa", "rkwa", "naive", "burst"]),
    most=st.integers(2, 6),
)
def test_rules_of_the_keyword_set_hold_for_all_methods(
    frames: list[tuple[list[list[str]], list[list[str]]]], name: str, most: int
) -> None:
    """Seeds stay, blacklisted terms never enter, and the number of keywords is bounded."""
    rules = Settings(min_posts=1, max_keywords=most, quiet_frames=2, blacklist=("#tagh",))
    method = make_method(name)
    state = follow_order(replace_seeds(State(), ("#taga", "#tagb"), rules), "block", "#tagg")
    earlier: tuple[Post, ...] = ()
    background: tuple[Post, ...] = ()
    for number, (collected, others) in enumerate(frames):
        start = NOON + number * rules.frame
        posts = tuple(post(f"{index} {' '.join(words)} #taga", start) for index, words in enumerate(collected))
        background += tuple(post(f"{index} {' '.join(words)}", start) for index, words in enumerate(others))
        frame = Frame(
            start=start,
            length=rules.frame,
            posts=posts,
            earlier=earlier,
            background=background,
            volumes=(len(others),) * (number + 1),
        )
        decision = method(state, frame, rules)
        assert method(state, frame, rules) == decision
        changed = {each.term for each in decision.entries}
        assert not changed & state.keywords.keys()
        state = decision.state
        earlier += posts
        assert {"#taga", "#tagb"} <= state.keywords.keys()
        assert not {"#tagg", "#tagh"} & state.keywords.keys()
        assert len(state.keywords) <= most
        assert all(each.reason for each in (*decision.entries, *decision.exits))
