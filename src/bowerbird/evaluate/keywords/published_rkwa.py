"""RKwA graded as its authors graded it: which posts of SKwA it retains and which it removes.

The procedure of Wang, Tokarchuk, Cuadrado and Poslad:

1. SKwA collects. RKwA reads the same posts and chooses keywords from SKwA's; what it would have
   collected are SKwA's posts that contain one of them.
2. Every keyword that SKwA ever followed belongs to a category with a score: related +3, possibly
   related +1, not related -3, unknown 0. Hashtags that never were keywords have -1.
3. A post is related if the scores of its hashtags have a sum above 0.
4. `kept` is the share of SKwA's related posts that RKwA also has, `removed` the share of the
   other posts that it does not have.

Five people labelled the keywords of the authors. Here the labels of keywords are derived from
those of the recorded posts, see `label_keywords`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np

from bowerbird.evaluate.keywords.replay import Replay, find_matching, replay
from bowerbird.evaluate.keywords.streams import FRAMES, Flags, Stream
from bowerbird.keywords.grading import SCORES, Category, PostGrader
from bowerbird.keywords.methods import make_method

PUBLISHED = {"kept": 0.7826, "removed": 0.8690}
"""For one hour of the Olympic Games of 2012."""
PUBLISHED_KEYWORDS = {"all": 0.1545, "C1": 0.2106, "C2": 0.1161, "C3": 0.0845, "C4": 0.4000}
"""Share of SKwA's keywords that RKwA retained, by category, in ten minutes of that hour."""
WITHIN = 0.03
"""Largest difference from the published figures that counts as a reproduction."""
RELATED, POSSIBLY = 0.75, 0.25
"""Least share of a hashtag's posts that belong to the event, by category."""


def grade_rkwa(stream: Stream, skwa: Replay, reading: str) -> dict[str, Any]:
    """Return what RKwA retains and removes of SKwA's posts of one event.

    The keywords of a frame filter the posts of the same frame, as in the paper."""
    rkwa = replay(stream, make_method("rkwa", {"reading": reading}), source=skwa)
    chosen = [
        position
        for frame in range(FRAMES)
        for position in find_matching(
            stream, rkwa.keywords[frame + 1], stream.starts[frame], stream.starts[frame + 1]
        )
    ]
    is_kept = np.isin(skwa.collected, chosen)

    categories = label_keywords(stream, frozenset().union(*skwa.keywords))
    grader = PostGrader({term: float(SCORES[each]) for term, each in categories.items()})
    is_graded_related = np.array(
        [grader.is_related(stream.readings[stream.texts[position]]) for position in skwa.collected],
        dtype=np.bool_,
    )
    return {
        **_share_kept(is_graded_related, is_kept),
        "by_post_labels": _share_kept(stream.is_event[skwa.collected], is_kept),
        "keywords": _share_of_keywords(stream, skwa, rkwa, categories),
    }


def label_keywords(stream: Stream, keywords: frozenset[str]) -> dict[str, Category]:
    """Return the category of each keyword: by the share of its posts that belong to the event.

    A seed is related. A hashtag in other letters than ASCII is unknown, as to the taggers."""
    categories = {}
    for keyword in keywords:
        positions = stream.positions_with(keyword)
        share = float(stream.is_event[positions].mean()) if len(positions) else 0.0
        if keyword in stream.seeds or (share >= RELATED and keyword.isascii()):
            categories[keyword] = Category.RELATED
        elif not keyword.isascii():
            categories[keyword] = Category.UNKNOWN
        else:
            categories[keyword] = Category.POSSIBLY if share >= POSSIBLY else Category.UNRELATED
    return categories


def _share_kept(is_event: Flags, is_kept: Flags) -> dict[str, Any]:
    return {
        "kept": round(float(is_kept[is_event].mean()), 4) if is_event.any() else None,
        "removed": round(float(1 - is_kept[~is_event].mean()), 4) if not is_event.all() else None,
        "related": int(is_event.sum()),
        "noise": int((~is_event).sum()),
    }


def _share_of_keywords(
    stream: Stream, skwa: Replay, rkwa: Replay, categories: Mapping[str, Category]
) -> dict[str, float]:
    """Return the share of SKwA's keywords, without seeds, that RKwA has in the same frame."""
    had: Counter[str] = Counter()
    has: Counter[str] = Counter()
    for before, after in zip(skwa.keywords, rkwa.keywords, strict=True):
        for term in before.difference(stream.seeds):
            for name in ("all", categories[term].value):
                had[name] += 1
                has[name] += term in after
    return {name: round(has[name] / had[name], 4) for name in sorted(had)}


def summarise_rkwa(by_event: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean over events, and all posts of all events taken together."""
    events = list(by_event.values())
    found: dict[str, Any] = {"mean": _mean(events), "by_event": dict(by_event)}
    found["by_post_labels"] = _mean([each["by_post_labels"] for each in events])
    together: dict[str, float | None] = {}
    for share, count in (("kept", "related"), ("removed", "noise")):
        posts = sum(each[count] for each in events)
        found_posts = sum((each[share] or 0) * each[count] for each in events)
        together[share] = round(found_posts / posts, 4) if posts else None
    found["together"] = together
    found["is_reproduced"] = all(
        (value := together[name]) is not None and abs(value - wanted) <= WITHIN
        for name, wanted in PUBLISHED.items()
    )
    return found


def _mean(rows: list[Mapping[str, Any]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in ("kept", "removed"):
        known = [each[name] for each in rows if each[name] is not None]
        means[name] = round(fmean(known), 4) if known else None
    return means
