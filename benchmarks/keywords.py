"""Processor time of a frame of `burst`: `python -m benchmarks.keywords --json`.

A frame of a network is matched against the keywords, and the method decides with full histories.
`ratio` is the time for both, divided by the time that reading the terms of all texts takes alone.
`decision` is the time of the decision alone, in seconds, and `posts` are the collected posts.
`collected` decides frames of many collected posts. Least of several rounds.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from bowerbird.keywords.keyword_set import replace_seeds
from bowerbird.keywords.methods import make_method
from bowerbird.keywords.values import HISTORY, SPAN_FRAMES, Frame, Post, Settings, State
from bowerbird.model.terms import Matcher, read_text

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SETTINGS = Settings()
SEED_TERM = "#flood"
EVENT_SHARE = 0.01
"""Part of the network's posts that belong to the event."""
BACKGROUND_SHARE = 0.05
NETWORKS = (20_000, 200_000)
COLLECTED = (300, 30_000)


def write_posts(number: int, event_share: float, seed: int = 1) -> list[str]:
    """Return texts in a made-up language; posts of the event share some words, half the seed."""
    chance = random.Random(seed)
    words = [_write_word(chance) for _ in range(5_000)]
    own = [_write_word(chance) + "x" for _ in range(100)]
    texts = []
    for _ in range(number):
        text = [words[int(len(words) * chance.random() ** 3)] for _ in range(chance.randint(6, 20))]
        if chance.random() < event_share:
            text += [own[int(len(own) * chance.random() ** 3)] for _ in range(4)]
            text += [SEED_TERM] if chance.random() < 0.5 else []
        texts.append(" ".join(text).capitalize() + " https://example.org/a")
    return texts


def _write_word(chance: random.Random) -> str:
    return "".join(chance.choice(letters) for letters in ("bcdfgh", "aeiou", "lmnrst", "aeiou", "kp"))


def read_posts(texts: Sequence[str]) -> list[Post]:
    return [Post(at=NOON, reading=read_text(text)) for text in texts]


def match_posts(texts: Sequence[str], state: State) -> list[Post]:
    """Return the posts that the keywords collect, as a filter of a whole stream does."""
    matcher = Matcher(state.keywords)
    found = (matcher.found(text) for text in texts)
    return [Post(at=NOON, reading=each[0]) for each in found if each is not None]


def make_frame(collected: Sequence[Post], background: Sequence[Post], volume: int) -> Frame:
    return Frame(
        start=NOON,
        length=SETTINGS.frame,
        posts=tuple(collected),
        earlier=tuple(read_posts(write_posts(HISTORY, 1.0, seed=2))),
        background=tuple(background),
        volumes=(volume,) * SPAN_FRAMES,
    )


def warm_up(frame: Frame) -> State:
    """Return the state after a first frame: some keywords, and a fitted regression."""
    return make_method("burst")(begin(), frame, SETTINGS).state


def begin() -> State:
    """Return the state before the first frame: the seed alone."""
    return replace_seeds(State(), (SEED_TERM,), SETTINGS)


def measure_least(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least processor time of each run, in seconds."""
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            spent = time.process_time() - start
            least[name] = min(spent, least.get(name, spent))
    return least


def measure_network(posts: int, rounds: int) -> dict[str, Any]:
    texts = write_posts(posts, EVENT_SHARE)
    background = read_posts(texts[: round(posts * BACKGROUND_SHARE)])[-HISTORY:]
    burst = make_method("burst")
    state = warm_up(make_frame(match_posts(texts, begin()), background, posts))
    frame = make_frame(match_posts(texts, state), background, posts)
    spent = measure_least(
        {
            "reading": lambda: read_posts(texts),
            "matching": lambda: match_posts(texts, state),
            "decision": lambda: burst(state, frame, SETTINGS),
        },
        rounds,
    )
    return {
        "ratio": round((spent["matching"] + spent["decision"]) / spent["reading"], 3),
        "keywords": len(state.keywords),
        "posts": len(frame.posts),
        **{name: round(seconds, 3) for name, seconds in spent.items()},
    }


def measure_collected(posts: int, rounds: int) -> dict[str, Any]:
    background = read_posts(write_posts(HISTORY, EVENT_SHARE))
    frame = make_frame(read_posts(write_posts(posts, 1.0, seed=3)), background, 10 * posts)
    state = warm_up(frame)
    burst = make_method("burst")
    spent = measure_least({"decision": lambda: burst(state, frame, SETTINGS)}, rounds)
    return {"decision": round(spent["decision"], 3), "memory": len(state.memory)}


def measure_keywords(networks: Sequence[int] = NETWORKS, collected: Sequence[int] = COLLECTED, rounds: int = 3) -> dict[str, Any]:
    return {
        "networks": {str(posts): measure_network(posts, rounds) for posts in networks},
        "collected": {str(posts): measure_collected(posts, rounds) for posts in collected},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, nargs="+", default=list(NETWORKS), help="posts of a frame of each network")
    parser.add_argument("--collected", type=int, nargs="+", default=list(COLLECTED), help="collected posts of each frame")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure_keywords(options.networks, options.collected, options.rounds)
    if options.json:
        print(msgspec.json.encode(figures).decode())
    else:
        print("\n".join(f"{name}: {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
