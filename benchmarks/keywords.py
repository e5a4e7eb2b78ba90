"""Posts per second through matching and adaptation with 400 keywords: `python -m benchmarks.keywords --json`.

The best available matcher is an Aho-Corasick automaton in Rust (`ahocorasick_rs`) over the text in normal form
(`automaton`). `matching` is ours: the same automaton, and posts that it finds are split into words and looked up. `reading`
is ours without the automaton. `adaptation` also reads 6,000 posts of the background and decides a frame by `burst` (or by
`skwa`). `ratio` is adaptation against the automaton alone, `flat` the cost of matching with 4,000 keywords against that with
40. Processor time, least of several alternating runs.
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

from bowerbird.keywords.keyword_set import pin
from bowerbird.keywords.methods import make_method
from bowerbird.keywords.values import HISTORY, Frame, Post, Settings, State
from bowerbird.model.terms import Matcher, read_text
from bowerbird.model.terms.forms import fold

KEYWORDS = 400
_NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
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


def state(method: str, keywords: int) -> State:
    made = make_method(method).begin(("#tag0",), Settings(max_keywords=10_000))
    for number in range(1, keywords):
        made = pin(made, f"#tag{number}")
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


def adapted(posts: Sequence[str], method: str) -> int:
    """Match the posts of a frame and decide it; its background is a sample of them."""
    settings, begun = Settings(max_keywords=10_000), state(method, KEYWORDS)
    matcher = Matcher(begun.keywords)
    collected = []
    for number, text in enumerate(posts):
        if found := matcher.found(text):
            collected.append(Post(_NOON + settings.frame * number / len(posts), found[0]))
    sampled = posts[:: max(1, len(posts) // HISTORY)][:HISTORY]
    background = tuple(Post(_NOON, read_text(text)) for text in sampled)
    frame = Frame(start=_NOON, length=settings.frame, posts=tuple(collected), background=background, volumes=(len(posts),))
    return len(make_method(method).decide(begun, frame, settings).candidates)


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
    written = texts(posts, carrying)
    matchers = {size: Matcher([f"#tag{number}" for number in range(size)]) for size in (40, KEYWORDS, 4_000)}
    runs: dict[str, Callable[[], object]] = {
        "automaton": lambda: automaton(written, [f"#tag{number}" for number in range(KEYWORDS)]),
        "reading": lambda: read(written, matchers[KEYWORDS]),
        "matching": lambda: matched(written, matchers[KEYWORDS]),
        "few": lambda: matched(written, matchers[40]),
        "many": lambda: matched(written, matchers[4_000]),
        "adaptation": lambda: adapted(written, "burst"),
        "adaptation_skwa": lambda: adapted(written, "skwa"),
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
