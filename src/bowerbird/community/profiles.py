"""Signs of a profile: location, time zone, languages, name, flags and words.

The weight of a sign is its log-likelihood ratio, mostly reduced because fields of a profile depend on
each other. A field that is missing or uninformative gives no sign.

| sign | weight |
|---|---|
| location | here 3.5, here and elsewhere .5, ambiguous none, unknown -.2, elsewhere -2.8 (-1.5 if uncertain) |
| time zone | own 2.8, within an hour none, a client's default -.7, further -1.8 |
| language set | own .9 ln(.78 / o), English -.9, other -2.3 |
| its variety | own +.9, other -1.4, added to the language |
| language of the description | own .7 ln(.65 / o), English -.5, other -1.5 |
| place in the description | here 2, elsewhere -1.2 |
| flags | own 2, own and others .4, others -1.2 |
| words | own 2, other -2 |
| name | `names.name_log_odds`, at most 4 for a full name; else .6 of it, between -1.2 and 1.8 |

`o` is the share of other accounts that use the community's language: .02 + .4 of the share of its
speakers who live elsewhere; most accounts, if the location is in another country that speaks it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from math import log
from pathlib import Path

from bowerbird.analysis.languages import Identifier
from bowerbird.community.countries import countries_speaking, share_of_speakers
from bowerbird.community.locations import LocationReader
from bowerbird.community.membership import NAME, Sign
from bowerbird.community.names import name_log_odds
from bowerbird.community.time_zones import CLIENT_DEFAULTS, hours_apart, iana_zone, utc_offsets
from bowerbird.community.words import folded_words
from bowerbird.model import User
from bowerbird.model.subjects.community import Community

TIME_ZONE, LANGUAGE, DESCRIPTION_LANGUAGE, WORDS = "zone", "declared", "bio_language", "words"
"""Kinds of signs, as evidence stores them, with those of `locations` and `membership.NAME`."""
ENGLISH = "en"
_MIN_LETTERS = 20
"""The language of a shorter description is not certain."""
_SHORT, _LONG = 200, 2_000
"""Characters of a name and the like, and of a description, that are read and stored."""
_UNKNOWN_LANGUAGES = frozenset({"und", "mul", "zxx"})
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}")
_NAME_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['\u2019-])+")


class ProfileReader:
    """Reads the signs of profiles for one community. Pure: equal profiles give equal signs."""

    def __init__(self, community: Community, cache: Path) -> None:
        """`cache`: the folder of the place index, which is built there if it is missing."""
        self._community = community
        self._locations = LocationReader(community, cache)
        self._identifier = Identifier()
        known = (utc_offsets(zone) for zone in community.zones)
        self._offsets = tuple(each for each in known if each is not None)
        language = community.languages[0] if community.languages else ""
        self._same_language = countries_speaking(language) - frozenset(community.countries)
        self._spoken_elsewhere = 1 - share_of_speakers(language, community.countries)
        self._own_words = {_folded_words(word): word for word in community.own_words}
        self._other_words = {_folded_words(word): word for word in community.other_words}
        # Most profiles are seen far more often than they change.
        self._read = lru_cache(maxsize=20_000)(self._read_fields)

    def signs(self, user: User) -> Sequence[Sign]:
        fields = (user.location, user.time_zone, user.language, user.name)
        return self._read(*map(clean_field, fields), clean_field(user.description, _LONG))

    def _read_fields(
        self, location: str, zone: str, language: str, name: str, description: str
    ) -> tuple[Sign, ...]:
        place, away = self._locations.location(location)
        signs = [
            place,
            self._zone_sign(zone),
            self._locations.description(description),
            self._locations.flags(f"{name} {description}"),
            self._words_sign(f"{name} {description}"),
            self._name_sign(name, away),
        ]
        if self._community.languages:
            signs.append(self._language_sign(language, away))
            signs.append(self._description_language_sign(description, away))
        return tuple(sign for sign in signs if sign is not None and sign.weight)

    def _zone_sign(self, zone: str) -> Sign | None:
        if not zone or not self._offsets:
            return None
        if iana_zone(zone) in self._community.zones:
            return Sign(TIME_ZONE, 2.8, zone)
        if zone in CLIENT_DEFAULTS:
            return Sign(TIME_ZONE, -0.7, zone)
        hours = utc_offsets(zone)
        if hours is None or hours_apart(hours, self._offsets) <= 1:
            return None
        return Sign(TIME_ZONE, -1.8, zone)

    def _language_sign(self, declared: str, away: str | None) -> Sign | None:
        community = self._community
        language, *region = declared.strip().casefold().replace("_", "-").split("-")
        if not _LANGUAGE_CODE.fullmatch(language) or language in _UNKNOWN_LANGUAGES:
            return None
        weight = -0.9 if language == ENGLISH else -2.3
        if language in community.languages:
            weight = 0.9 * log(0.78 / share_of_others(community, language, away))
            variety = f"{language}-{region[0].upper()}" if region else ""
            if variety in community.varieties:
                weight += 0.9
            elif variety in community.other_varieties:
                weight -= 1.4
        return Sign(LANGUAGE, weight, declared)

    def _description_language_sign(self, text: str, away: str | None) -> Sign | None:
        community = self._community
        if sum(each.isalpha() for each in text) < _MIN_LETTERS:
            return None
        written = self._identifier.identify([text])[0]
        if written.language is None or written.confidence < 0.6:
            return None
        weight = -0.5 if written.language == ENGLISH else -1.5
        if written.language in community.languages:
            weight = 0.7 * log(0.65 / share_of_others(community, written.language, away))
        return Sign(DESCRIPTION_LANGUAGE, weight, written.language)

    def _words_sign(self, text: str) -> Sign | None:
        words = _folded_words(text)
        own = [word for folded, word in self._own_words.items() if folded in words]
        other = [word for folded, word in self._other_words.items() if folded in words]
        if not own and not other:
            return None
        return Sign(WORDS, 2.0 * (bool(own) - bool(other)), ", ".join((*own, *other)))

    def _name_sign(self, name: str, away: str | None) -> Sign | None:
        ratio = name_log_odds(
            name,
            self._community.name_countries,
            same_language=self._same_language,
            spoken_elsewhere=self._spoken_elsewhere,
            place=away,
        )
        if ratio is None:
            return None
        is_full = is_full_name(name)
        weight = min(max(ratio, -4), 4) if is_full else 0.6 * min(max(ratio, -2), 3)
        return Sign(NAME, weight, name)


def share_of_others(community: Community, language: str, away: str | None = None) -> float:
    """Return the share of other accounts that use a language of the community.

    `away`: another country that the location names.
    """
    share = 0.02 + 0.4 * (1 - share_of_speakers(language, community.countries))
    return 0.68 + 0.2 * share if away in countries_speaking(language) else share


def is_full_name(text: str) -> bool:
    """Return whether a text looks like the name of a person: two to four capitalised words."""
    words = text.split()
    return 2 <= len(words) <= 4 and all(
        _NAME_WORD.fullmatch(word) and word[0] != word[0].lower() for word in words
    )


def clean_field(text: str | None, longest: int = _SHORT) -> str:
    """Return the start of a field that any user may fill with anything, with composed letters only."""
    start = (text or "")[:longest].encode("utf-8", "replace").decode().replace("\0", " ")
    return unicodedata.normalize("NFC", start)


def _folded_words(text: str) -> str:
    """The words of a text with a space around each, so that `in` finds whole words only."""
    return f" {' '.join(folded_words(text))} "
