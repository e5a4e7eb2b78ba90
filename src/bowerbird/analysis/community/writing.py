"""What somebody's posts say of where they belong: languages, varieties, and the hours at which they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import log

from bowerbird.analysis.community.signs import Sign
from bowerbird.analysis.community.speaking import ENGLISH, own_weight
from bowerbird.analysis.community.zones import hours_of
from bowerbird.analysis.languages import MIN_SET_POSTS, Identifier, SetLanguages
from bowerbird.analysis.rhythm import rhythm
from bowerbird.analysis.variety import Variety, classify_variety
from bowerbird.model.subjects.community import Community

_SOME = 0.1
_MOSTLY = 0.5
_MIXED = 0.4
"""Somebody who writes the language among others."""
_ENGLISH, _OTHER, _OTHER_MIXED = -1.0, -3.8, -1.5
_VARIETY, _MOST_VARIETY = 0.8, 3.4
"""By how much a score of the variety counts, and at most: some write like their neighbours."""
_USUAL_FIT = 0.3
"""How well the hours of anybody fit the zones of a community, roughly."""
_MOST_RHYTHM, _LEAST_RHYTHM = 0.4, -0.8


class WritingReader:
    """Reads what people wrote for one community. Pure: the same posts give the same signs."""

    def __init__(self, community: Community) -> None:
        self._community = community
        self._identifier = Identifier()
        self._hours = tuple(sum(hours) / len(hours) for zone in community.zones if (hours := hours_of(zone)))

    def signs(self, texts: Sequence[str], times: Sequence[datetime]) -> Iterator[Sign]:
        """Of one person's posts, and of when they were written."""
        told = [self._rhythm(times)]
        if self._community.languages:
            languages = self._identifier.identify_set(texts)
            told += [self._written(languages), self._variety(classify_variety(texts, languages))]
        return (sign for sign in told if sign is not None)

    def _written(self, languages: SetLanguages) -> Sign | None:
        shares, told = languages.shares, languages.identified
        if told < MIN_SET_POSTS:
            return None
        own = sum(share for language, share in shares.items() if language in self._community.languages)
        main = next(iter(shares))
        weight = self._language_weight(own, main)
        words = ", ".join(f"{name} {share:.0%}" for name, share in list(shares.items())[:3])
        return Sign("written", weight, f"{words} of {told} posts") if weight else None

    def _language_weight(self, own: float, main: str) -> float:
        if own >= _MOSTLY:
            best = max(self._community.languages, key=lambda each: own_weight(each, self._community))
            return 0.3 + own_weight(best, self._community)
        if own >= _SOME:
            return _MIXED if main == ENGLISH else _OTHER_MIXED
        return _ENGLISH if main == ENGLISH else _OTHER

    def _variety(self, weighing: Variety) -> Sign | None:
        strength = min(_MOST_VARIETY, 1.0 + _VARIETY * abs(weighing.score))
        hints = ", ".join(each.examples[0] for each in weighing.evidence[:4] if each.examples)
        if weighing.variety in self._community.varieties:
            return Sign("variety", strength, f"{weighing.variety}: {hints}")
        if weighing.variety in self._community.other_varieties:
            return Sign("variety", -strength, f"{weighing.variety}: {hints}")
        return None

    def _rhythm(self, times: Sequence[datetime]) -> Sign | None:
        found = rhythm(times) if self._hours else None
        if found is None:
            return None
        fit = max(found.fit(ahead) for ahead in self._hours)
        weight = max(_LEAST_RHYTHM, min(_MOST_RHYTHM, log((fit + 0.02) / _USUAL_FIT)))
        likely = ", ".join(f"UTC{zone:+d}" for zone in found.likely[:5])
        return Sign("rhythm", weight, f"{found.posts} posts, likely {likely}")
