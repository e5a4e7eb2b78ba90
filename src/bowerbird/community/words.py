"""Words of descriptions that distinguish members, learned from the accounts of a crawl.

For communities that are a field, such as journalists: no country, language or name distinguishes them, but they
describe themselves in the same words. Members are the seeds and the accounts judged to be members;
others are all other accounts whose profile is known, undecided ones included. A word is learned if at
least two members use it; its weight is a smoothed log-likelihood ratio.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from math import log

from bowerbird.analysis.places.gazetteer import fold
from bowerbird.community.membership import Sign

LEARNED_WORDS = "learned_words"
"""The kind of this sign, in evidence."""
_WORD = re.compile(r"[^\W_]+")
_LONGEST_DESCRIPTION = 2_000
_MIN_MEMBERS, _MIN_LETTERS = 2, 3
_MOST_WORDS = 400
_SMOOTHING = 2.0
"""Accounts with a word's usual share, added to both sides."""
_MIN_RATIO, _MOST_RATIO = 0.7, 2.5
_TEMPER = 0.8
"""Words of one description depend on each other."""
_LEAST, _MOST = -3.0, 5.0


def learn_words(members: Iterable[str], others: Iterable[str]) -> Mapping[str, float]:
    """Return the weights of telling words, from descriptions of members and of other accounts."""
    here, members_total = _count(members)
    there, others_total = _count(others)
    if not members_total or not others_total:
        return {}
    ratios: dict[str, float] = {}
    for word in here | there:
        usual = (here[word] + there[word]) / (members_total + others_total)
        member_share = (here[word] + _SMOOTHING * usual) / (members_total + _SMOOTHING)
        other_share = (there[word] + _SMOOTHING * usual) / (others_total + _SMOOTHING)
        ratio = log(member_share / other_share)
        is_used = here[word] >= _MIN_MEMBERS or (ratio < 0 and there[word] > _MIN_MEMBERS)
        if is_used and abs(ratio) >= _MIN_RATIO:
            ratios[word] = round(max(-_MOST_RATIO, min(_MOST_RATIO, ratio)), 3)
    # The most telling: those that separate the most accounts.
    by_use = sorted(
        ratios, key=lambda word: (-abs(ratios[word]) * (here[word] + there[word]), word)
    )
    return {word: ratios[word] for word in sorted(by_use[:_MOST_WORDS])}


def learned_words_sign(description: str, weights: Mapping[str, float]) -> Sign | None:
    """Return the sign of the learned words in a description."""
    # The sum and the text must not depend on the order of a set, which differs between processes.
    found = sorted(
        _words(description) & weights.keys(), key=lambda word: (-abs(weights[word]), word)
    )
    if not found:
        return None
    ratio = _TEMPER * sum(weights[word] for word in found)
    return Sign(LEARNED_WORDS, max(_LEAST, min(_MOST, ratio)), ", ".join(found[:8]))


def _count(descriptions: Iterable[str]) -> tuple[Counter[str], int]:
    counts: Counter[str] = Counter()
    total = 0
    for description in descriptions:
        counts.update(_words(description))
        total += 1
    return counts, total


def folded_words(text: str) -> list[str]:
    """Return the words of a text in order, without case and accents."""
    return [fold(word) for word in _WORD.findall(unicodedata.normalize("NFC", text))]


def _words(text: str) -> frozenset[str]:
    words = folded_words(text[:_LONGEST_DESCRIPTION])
    return frozenset(word for word in words if len(word) >= _MIN_LETTERS and not word.isdigit())
