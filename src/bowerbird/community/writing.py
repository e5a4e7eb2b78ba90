"""Signs of the posts of an account: their language and its variety.

The language of the posts replaces the language in the profile: both are evidence for the same
fact. It is judged over all posts, because single posts are often too short.

| sign | log-likelihood ratio |
|---|---|
| language | own ln(.85 / o) with `o` as in `profiles.py`; English -1.5, other -3.5 |
| language, partly own | beside English -.3, beside another -1.2 |
| variety (pt-PT, pt-BR) | the log odds of the variety, at most 3.4; negative for another one |
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from bowerbird.analysis.languages import MIN_SET_POSTS, Identifier, SetLanguages
from bowerbird.analysis.variety import Variety, classify_variety
from bowerbird.community.membership import Sign
from bowerbird.community.profiles import ENGLISH, share_of_others
from bowerbird.model.subjects.community import Community

WRITTEN, VARIETY = "written", "variety"
WRITING = frozenset({WRITTEN, VARIETY})
"""Kinds of signs that posts give."""
_WRITE_OWN = 0.85
_PARTLY_AND_ENGLISH, _PARTLY, _ENGLISH, _OTHER = -0.3, -1.2, -1.5, -3.5
_MAIN_SHARE, _PARTLY_SHARE = 0.5, 0.1
_MOST_VARIETY = 3.4


class WritingReader:
    """Reads the signs of posts for one community. Pure: equal posts give equal signs."""

    def __init__(self, community: Community) -> None:
        self._community = community
        self._identifier = Identifier()

    def signs(self, posts: Sequence[str]) -> list[Sign]:
        """Return the signs of one account's posts."""
        if not self._community.languages:
            return []
        languages = self._identifier.identify_set(posts)
        signs = [self._language_sign(languages)]
        if self._community.varieties or self._community.other_varieties:
            signs.append(self._variety_sign(classify_variety(posts, languages)))
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
            ratio = log(_WRITE_OWN / others)
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
