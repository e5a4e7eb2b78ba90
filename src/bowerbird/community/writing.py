"""Signs of the posts of an account: their language, their variety, and the hours at which they were written.

The language of the posts replaces the language in the profile: both are evidence for the same
fact. It is judged over all posts, because single posts are often too short.

| sign | log-likelihood ratio |
|---|---|
| language | own min(3.5, ln(.85 / o)) with `o` as in `profiles.py`; English -1.5, other -3.5 |
| language, partly own | beside English -.3, beside another -1.2 |
| variety (pt-PT, pt-BR) | the log odds of the variety, at most 3.4; negative for another one |
| hours | between -.8 and .4, by how well a night's sleep fits the community's time zones |
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import log

from bowerbird.analysis.languages import MIN_SET_POSTS, Identifier, SetLanguages
from bowerbird.analysis.rhythm import rhythm
from bowerbird.analysis.variety import Variety, classify_variety
from bowerbird.community.membership import Sign
from bowerbird.community.profiles import ENGLISH, share_of_others
from bowerbird.community.time_zones import zone_offsets
from bowerbird.model.subjects.community import Community

WRITTEN, VARIETY, HOURS = "written", "variety", "rhythm"
WRITING = frozenset({WRITTEN, VARIETY, HOURS})
"""Kinds of signs that posts give."""
_WRITE_OWN, _MOST_OWN = 0.85, 3.5
_PARTLY_AND_ENGLISH, _PARTLY, _ENGLISH, _OTHER = -0.3, -1.2, -1.5, -3.5
_MAIN_SHARE, _PARTLY_SHARE = 0.5, 0.1
_MOST_VARIETY = 3.4
_USUAL_FIT = 0.3
"""How well the hours of any account fit the zones of a community, roughly."""
_MOST_HOURS, _LEAST_HOURS = 0.4, -0.8


class WritingReader:
    """Reads the signs of posts for one community. Pure: equal posts give equal signs."""

    def __init__(self, community: Community) -> None:
        self._community = community
        self._identifier = Identifier()
        zones = (zone_offsets(zone) for zone in community.zones)
        self._offsets = tuple(sum(each) / 2 for each in zones if each is not None)

    def signs(self, texts: Sequence[str], times: Sequence[datetime]) -> list[Sign]:
        """Return the signs of one account's posts and of when they were written."""
        signs = [self._hours_sign(times)]
        if self._community.languages:
            languages = self._identifier.identify_set(texts)
            signs.append(self._language_sign(languages))
            if self._community.varieties or self._community.other_varieties:
                signs.append(self._variety_sign(classify_variety(texts, languages)))
        return [sign for sign in signs if sign is not None]

    def _language_sign(self, languages: SetLanguages) -> Sign | None:
        if languages.identified < MIN_SET_POSTS or not languages.shares:
            return None
        shares = languages.shares
        own = {each: shares.get(each, 0.0) for each in self._community.languages}
        share = sum(own.values())
        main = max(shares, key=lambda language: shares[language])
        if share >= _MAIN_SHARE:
            others = share_of_others(self._community, max(own, key=lambda each: own[each]))
            ratio = min(_MOST_OWN, log(_WRITE_OWN / others))
        elif share >= _PARTLY_SHARE:
            ratio = _PARTLY_AND_ENGLISH if main == ENGLISH else _PARTLY
        else:
            ratio = _ENGLISH if main == ENGLISH else _OTHER
        found = ", ".join(f"{name} {part:.0%}" for name, part in list(shares.items())[:3])
        return Sign(WRITTEN, ratio, f"{found} of {languages.identified} posts")

    def _variety_sign(self, found: Variety) -> Sign | None:
        ratio = min(_MOST_VARIETY, abs(found.score))
        hints = ", ".join(each.examples[0] for each in found.evidence[:4] if each.examples)
        text = f"{found.variety}: {hints}"
        if found.variety in self._community.varieties:
            return Sign(VARIETY, ratio, text)
        if found.variety in self._community.other_varieties:
            return Sign(VARIETY, -ratio, text)
        return None

    def _hours_sign(self, times: Sequence[datetime]) -> Sign | None:
        hours = rhythm(times) if self._offsets else None
        if hours is None:
            return None
        fit = max(hours.fit(offset) for offset in self._offsets)
        ratio = max(_LEAST_HOURS, min(_MOST_HOURS, log((fit + 0.02) / _USUAL_FIT)))
        likely = ", ".join(f"UTC{zone:+d}" for zone in hours.likely[:5])
        return Sign(HOURS, ratio, f"{hours.posts} posts, likely {likely}")
