"""Posts per second through matching and adaptation with 400 keywords: `python -m benchmarks.keywords --json`.

The best available matcher is an Aho-Corasick automaton in Rust (`ahocorasick_rs`) over the text in normal form (`automaton`).
`matching` is ours: the same automaton, and what it finds is read and looked up word by word. `reading` is what it would be
without the automaton. `adaptation` counts what was collected besides, samples a thousand posts of the background, and decides at
the end of the frame. `ratio` is adaptation against the automaton alone, `flat` the cost of matching with 4,000 keywords against
that with 40. Processor time, least of several alternating runs.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from ahocorasick_rs import AhoCorasick

from bowerbird.model.terms import Matcher, read_text
from bowerbird.model.terms.forms import fold
from bowerbird.policies.keywords import FrameCounter, Settings, State, method, pinned

KEYWORDS = 400
_NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
_SAMPLE = 1_000
_OTHER_STREAMS = ((20_000, 0.01), (20_000, 0.05), (200_000, 0.05), (20_000, 1.0))


def texts(number: int, carrying: float, seed: int = 1) -> list[str]:
    """Posts of a full stream; this part of them carries a keyword."""
    chance = random.Random(seed)
    words = [f"{chance.choice('abcdefgh')}{chance.choice('aeiou')}{chance.choice('lmnrst')}{number}" for number in range(5_000)]
    found = []
    for _ in range(number):
        said = chance.choices(words, k=chance.randint(6, 20))
        if chance.random() < carrying:
            said.append(f"#tag{int(KEYWORDS * chance.random() ** 3)}")
        found.append(" ".join(said).capitalize() + " https://example.org/a")
    return found


def state(keywords: int) -> State:
    made = method("colift").begins(("#tag0",), Settings(most=10_000))
    for number in range(1, keywords):
        made = pinned(made, f"#tag{number}")
    return made


def matched(posts: Sequence[str], matcher: Matcher) -> int:
    return sum(matcher.found(text) is not None for text in posts)


def read(posts: Sequence[str], matcher: Matcher) -> int:
    return sum(bool(matcher.matched(read_text(text))) for text in posts)


def automaton(posts: Sequence[str], keywords: Sequence[str]) -> int:
    """The same by an automaton over the folded text; a hit inside a longer word is none."""
    finder = AhoCorasick(list(keywords))
    hits = 0
    for text in posts:
        folded = fold(text)
        found = finder.find_matches_as_indexes(folded)
        hits += any(end == len(folded) or not (folded[end].isalnum() or folded[end] == "_") for _, _, end in found)
    return hits


def adapted(posts: Sequence[str], begun: State, kinds: str) -> int:
    """Matching, counting and one decision: a frame of so many posts."""
    settings, chosen = Settings(most=10_000), method(kinds)
    matcher, counter = Matcher(begun.keywords), FrameCounter(_NOON, begun, settings, chosen.kinds)
    slots = [_NOON + settings.frame / settings.slots * slot for slot in range(settings.slots)]
    for number, text in enumerate(posts):
        if found := matcher.found(text):
            counter.add(found[0], slots[number * len(slots) // len(posts)], keywords=found[1])
    for text in posts[:: max(1, len(posts) // _SAMPLE)]:
        counter.sample(read_text(text), _NOON, _SAMPLE / len(posts))
    return len(chosen.decides(begun, counter.end(), settings).candidates)


def least(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least processor time of each over some rounds, in turn."""
    found: dict[str, float] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.process_time()
            run()
            spent = time.process_time() - began
            found[name] = min(spent, found.get(name, spent))
    return found


def measured(posts: int, rounds: int, carrying: float) -> dict[str, Any]:
    written, begun = texts(posts, carrying), state(KEYWORDS)
    matchers = {size: Matcher([f"#tag{number}" for number in range(size)]) for size in (40, KEYWORDS, 4_000)}
    runs: dict[str, Callable[[], object]] = {
        "automaton": lambda: automaton(written, list(begun.keywords)),
        "reading": lambda: read(written, matchers[KEYWORDS]),
        "matching": lambda: matched(written, matchers[KEYWORDS]),
        "few": lambda: matched(written, matchers[40]),
        "many": lambda: matched(written, matchers[4_000]),
        "adaptation": lambda: adapted(written, begun, "colift"),
        "adaptation_skwa": lambda: adapted(written, begun, "skwa"),
    }
    spent = least(runs, rounds)
    return {
        "ratio": round(spent["automaton"] / spent["adaptation"], 3),
        "ratio_to_own_matching": round(spent["matching"] / spent["adaptation"], 3),
        "flat": round(spent["many"] / spent["few"], 3),
        "carrying": carrying,
        "posts_per_second": {name: round(posts / each) for name, each in spent.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--carrying", type=float, default=0.01, help="the part of all posts that carry a keyword")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measured(options.posts, options.rounds, options.carrying)
    # The ratio depends on the stream: a post that carries a keyword is read, and the end of a frame costs the same of any number.
    found["by_stream"] = {
        f"{posts} posts a frame, {carrying:.0%} carrying": measured(posts, 2, carrying)["ratio"]
        for posts, carrying in _OTHER_STREAMS
    }
    print(msgspec.json.encode(found).decode() if options.json else "\n".join(f"{name}: {value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
