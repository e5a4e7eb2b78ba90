"""Words of descriptions that distinguish members, learned from the accounts of a crawl.

For communities that are a field, such as journalists: no country, language or name distinguishes
them, but they describe themselves in the same words. Members are the seeds, and accounts that a person
decided. Accounts that the classifier decided are not: it would learn from its own mistakes. Others are
all other accounts whose profile is known; about one in seven of them is a member too.

- A word's weight is the log ratio of its shares. The share among members is the lower end of its
  confidence interval, so that a few seeds with the same hobby teach nothing.
- A description without any of these words has one weight, which is negative.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from math import log

from bowerbird.analysis.agreement import wilson_share
from bowerbird.analysis.places.gazetteer import fold
from bowerbird.community.membership import START_PRIOR, Sign

LEARNED_WORDS = "learned_words"
"""The kind of this sign, in evidence."""
_WORD = re.compile(r"[^\W_]+")
_LONGEST_DESCRIPTION = 2_000
_MIN_MEMBERS, _MIN_LETTERS = 2, 3
_MOST_WORDS = 400
_MIN_RATIO, _MOST_RATIO = 0.7, 4.0
_LEAST_SHARE = 0.1
"""Of the share of a word among other accounts, so much at least is taken to be of non-members."""
_LEAST, _MOST = -3.0, 5.0
NO_WORD = ""
"""Stands for a description that has none of the words."""


def learn_words(members: Iterable[str], others: Iterable[str]) -> Mapping[str, float]:
    """Return the weights of telling words, from descriptions of members and of other accounts."""
    here, there = list(filter(None, map(_words, members))), list(filter(None, map(_words, others)))
    if not here or not there:
        return {}
    uses, other_uses = Counter(chain.from_iterable(here)), Counter(chain.from_iterable(there))
    ratios: dict[str, float] = {}
    for word in (each for each, use in uses.items() if use >= _MIN_MEMBERS):
        share = wilson_share(uses[word], len(here)).low
        usual = (other_uses[word] + 1) / (len(there) + 2)
        of_others = max(usual - START_PRIOR * share, _LEAST_SHARE * usual) / (1 - START_PRIOR)
        ratio = log(share / of_others)
        if ratio >= _MIN_RATIO:
            ratios[word] = round(min(_MOST_RATIO, ratio), 3)
    telling = sorted(ratios, key=lambda word: (-ratios[word] * uses[word], word))[:_MOST_WORDS]
    # A member is counted as if its own use had not made the word telling.
    sure = {word for word in telling if uses[word] > _MIN_MEMBERS}
    without = (sum(sure.isdisjoint(words) for words in here) + 1) / (len(here) + 2)
    others_without = (sum(words.isdisjoint(telling) for words in there) + 1) / (len(there) + 2)
    absence = round(min(0.0, max(_LEAST, log(without / others_without))), 3)
    return {NO_WORD: absence} | {word: ratios[word] for word in sorted(telling)}


def learned_words_sign(description: str, weights: Mapping[str, float]) -> Sign | None:
    """Return the sign of the learned words in a description."""
    words = _words(description)
    if not words or not weights:
        return None
    # The sum and the text must not depend on the order of a set, which differs between processes.
    found = sorted(words & weights.keys(), key=lambda word: (-weights[word], word))
    if not found:
        return Sign(LEARNED_WORDS, weights[NO_WORD], "no word that members use")
    ratio = sum(weights[word] for word in found)
    return Sign(LEARNED_WORDS, min(_MOST, ratio), ", ".join(found[:8]))


def folded_words(text: str) -> list[str]:
    """Return the words of a text in order, without case and accents."""
    return [fold(word) for word in _WORD.findall(unicodedata.normalize("NFC", text))]


def _words(text: str) -> frozenset[str]:
    words = folded_words(text[:_LONGEST_DESCRIPTION])
    return frozenset(word for word in words if len(word) >= _MIN_LETTERS and not word.isdigit())
