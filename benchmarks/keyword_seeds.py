"""Are proposed seeds the event's own: `python -m benchmarks.keyword_seeds --data DIR [--json]`.

Each window contains posts of a recorded event, in their order, and 5 to 40 unrelated posts for each. A window is a
hit if one of the first three proposals is one of the event's two hashtags of the news of those days, as a hashtag or
a word. Half of the windows are compared with as many other posts of the store, half with ordinary posts alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from random import Random

from bowerbird.evaluate.keywords.streams import Data, Recording, read_data
from bowerbird.keywords.seeds import Tally, propose_seeds

EVENT_POSTS = (30, 100, 300)
RATIOS = (5, 10, 20, 40)
FIRST = 3


def is_hit(data: Data, recording: Recording, count: int, ratio: int, has_others: bool, random: Random) -> bool:
    """Return whether the first proposals of one window contain a hashtag of the event."""
    own = [text for text, is_event in zip(recording.texts, recording.labels, strict=True) if is_event]
    start = random.randrange(max(1, len(own) - count))
    unrelated = [post.text for post in random.sample(data.unrelated, 2 * count * ratio)]
    event = tally(data, [*own[start : start + count], *unrelated[: count * ratio]])
    others = tally(data, unrelated[count * ratio :] if has_others else [])
    proposals = propose_seeds(event, others, most=FIRST)
    return not {each.term.lstrip("#") for each in proposals}.isdisjoint(seed.lstrip("#") for seed in recording.seeds)


def tally(data: Data, texts: Iterable[str]) -> Tally:
    found = Tally()
    for text in texts:
        found.add(data.read(text))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with recorded events and ordinary posts")
    parser.add_argument("--posts", type=int, nargs="+", default=list(EVENT_POSTS), help="posts of the event in a window")
    parser.add_argument("--ratios", type=int, nargs="+", default=list(RATIOS), help="unrelated posts for each of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    data, random = read_data(arguments.data), Random(arguments.seed)
    by_ratio = {}
    for ratio in arguments.ratios:
        windows = list(product(data.recordings.values(), arguments.posts, (True, False)))
        hits = sum(is_hit(data, recording, count, ratio, has_others, random) for recording, count, has_others in windows)
        by_ratio[ratio] = round(hits / len(windows), 4)
        if not arguments.json:
            print(f"{ratio} unrelated posts per event post: {by_ratio[ratio]:.1%} of {len(windows)} windows")
    if arguments.json:
        print(json.dumps({"hits": round(sum(by_ratio.values()) / len(by_ratio), 4), "by_ratio": by_ratio}))


if __name__ == "__main__":
    main()
