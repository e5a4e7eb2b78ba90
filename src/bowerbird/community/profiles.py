"""Signs of a profile: location, time zone, languages, name, flags and words.

Each sign is a log-likelihood ratio times a weight below 1, because fields of a profile depend on each
other. A field that is missing or uninformative gives no sign.

| sign | weight | log-likelihood ratio |
|---|---|---|
| location | .9 | here 3.9, here and elsewhere .6, ambiguous 0, unknown -.2, elsewhere -2.4 (-1.7 if uncertain) |
| time zone | .8 | own 3.5, same hours .1, one hour away -.3, a client's default -.9, further -2.3 |
| language set | .9 | own min(3.5, ln(.78 / o)), English -1.0, other -2.6 |
| its variety | .9 | own +1, other -1.5, added to the language |
| language of the description | .7 | own min(3.3, ln(.65 / o)), English -.7, other -2.1 |
| place in the description | 1 | here 2, elsewhere -1.2 |
| flags | 1 | own 2, own and others .4, others -1.2 |
| words | 1 | own 2, other -2 |
| name | .7, .45, .6 | `names.name_log_odds`, bounded by how much it looks like a name |

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
from bowerbird.community.locations import Location, LocationReader
from bowerbird.community.membership import NAME, Sign
from bowerbird.community.names import name_log_odds
from bowerbird.community.time_zones import DEFAULTS, hours_apart, iana_zone, offsets, zone_offsets
from bowerbird.community.words import folded_words
from bowerbird.model import User
from bowerbird.model.subjects.community import Community

LOCATION, TIME_ZONE, LANGUAGE, DESCRIPTION_LANGUAGE = "place", "zone", "declared", "bio_language"
DESCRIPTION_PLACE, FLAG, WORDS = "described", "flag", "words"
"""Kinds of signs, as evidence stores them; the kind of a name is `membership.NAME`."""
ENGLISH = "en"
_LOCATION_WEIGHT, _ZONE_WEIGHT, _LANGUAGE_WEIGHT, _DESCRIPTION_WEIGHT = 0.9, 0.8, 0.9, 0.7
_ZONE_OWN, _ZONE_SAME, _ZONE_NEAR, _ZONE_DEFAULT, _ZONE_FAR = 3.5, 0.1, -0.3, -0.9, -2.3
_NEAR_HOURS = 1.0
_USE_OWN, _MOST_DECLARED, _DECLARED_ENGLISH, _DECLARED_OTHER = 0.78, 3.5, -1.0, -2.6
_OWN_VARIETY, _OTHER_VARIETY = 1.0, -1.5
_WRITE_OWN, _MOST_WRITTEN, _WRITTEN_ENGLISH, _WRITTEN_OTHER = 0.65, 3.3, -0.7, -2.1
_MIN_LETTERS, _MIN_CONFIDENCE = 20, 0.6
_WORD = 2.0
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
        known = (zone_offsets(zone) for zone in community.zones)
        self._offsets = tuple(each for each in known if each is not None)
        language = community.languages[0] if community.languages else ""
        self._same_language = countries_speaking(language) - frozenset(community.countries)
        self._spoken_elsewhere = 1 - share_of_speakers(language, community.countries)
        self._own_words = {_folded_words(word): word for word in community.own_words}
        self._other_words = {_folded_words(word): word for word in community.other_words}
        # Most profiles are seen far more often than they change.
        self._read = lru_cache(maxsize=20_000)(self._read_fields)

    def signs(self, user: User) -> Sequence[Sign]:
        fields = (user.location, user.time_zone, user.language, user.name, user.handle)
        return self._read(
            *(clean_field(each) for each in fields), clean_field(user.description, _LONG)
        )

    def _read_fields(
        self, location: str, zone: str, language: str, name: str, handle: str, description: str
    ) -> tuple[Sign, ...]:
        place = self._locations.location(location)
        away = place.away if place is not None else None
        flags = self._locations.flags(f"{name} {description}")
        signs = (
            _sign(LOCATION, place, _LOCATION_WEIGHT),
            self._zone_sign(zone),
            self._language_sign(language, away),
            self._description_language_sign(description, away),
            _sign(DESCRIPTION_PLACE, self._locations.description(description)),
            _sign(FLAG, flags),
            self._words_sign(f"{name} {description}"),
            self._name_sign(name, handle, away),
        )
        return tuple(sign for sign in signs if sign is not None and sign.weight)

    def _zone_sign(self, zone: str) -> Sign | None:
        hours = offsets(zone)
        if hours is None or not self._offsets:
            return None
        distance = hours_apart(hours, self._offsets)
        if iana_zone(zone) in self._community.zones:
            ratio = _ZONE_OWN
        elif zone in DEFAULTS:
            ratio = _ZONE_DEFAULT
        elif distance == 0:
            ratio = _ZONE_SAME
        else:
            ratio = _ZONE_NEAR if distance <= _NEAR_HOURS else _ZONE_FAR
        return Sign(TIME_ZONE, _ZONE_WEIGHT * ratio, zone)

    def _language_sign(self, declared: str, away: str | None) -> Sign | None:
        community = self._community
        language, *region = declared.strip().casefold().replace("_", "-").split("-")
        if not _LANGUAGE_CODE.fullmatch(language) or language in _UNKNOWN_LANGUAGES:
            return None
        if not community.languages:
            return None
        variety = f"{language}-{region[0].upper()}" if region else ""
        if language in community.languages:
            ratio = min(_MOST_DECLARED, log(_USE_OWN / share_of_others(community, language, away)))
            if variety in community.varieties:
                ratio += _OWN_VARIETY
            elif variety in community.other_varieties:
                ratio += _OTHER_VARIETY
        else:
            ratio = _DECLARED_ENGLISH if language == ENGLISH else _DECLARED_OTHER
        return Sign(LANGUAGE, _LANGUAGE_WEIGHT * ratio, declared)

    def _description_language_sign(self, text: str, away: str | None) -> Sign | None:
        community = self._community
        if not community.languages or sum(each.isalpha() for each in text) < _MIN_LETTERS:
            return None
        written = self._identifier.identify([text])[0]
        if written.language is None or written.confidence < _MIN_CONFIDENCE:
            return None
        if written.language in community.languages:
            others = share_of_others(community, written.language, away)
            ratio = min(_MOST_WRITTEN, log(_WRITE_OWN / others))
        else:
            ratio = _WRITTEN_ENGLISH if written.language == ENGLISH else _WRITTEN_OTHER
        return Sign(DESCRIPTION_LANGUAGE, _DESCRIPTION_WEIGHT * ratio, written.language)

    def _words_sign(self, text: str) -> Sign | None:
        words = _folded_words(text)
        own = [word for folded, word in self._own_words.items() if folded in words]
        other = [word for folded, word in self._other_words.items() if folded in words]
        if not own and not other:
            return None
        return Sign(WORDS, _WORD * (bool(own) - bool(other)), ", ".join((*own, *other)))

    def _name_sign(self, name: str, handle: str, away: str | None) -> Sign | None:
        ratio = name_log_odds(
            name,
            self._community.name_countries,
            same_language=self._same_language,
            spoken_elsewhere=self._spoken_elsewhere,
            place=away,
        )
        if ratio is None:
            return None
        if is_full_name(name):
            weight = 0.7 * _clip(ratio, -4, 4)
        elif name.casefold() == handle.casefold():
            weight = 0.6 * _clip(ratio, -0.75, 1.5)
        elif len(name.split()) > 1:
            weight = 0.45 * _clip(ratio, -3, 3)
        else:
            weight = 0.6 * _clip(ratio, -1.5, 2.5)
        return Sign(NAME, weight, name)


def share_of_others(community: Community, language: str, away: str | None = None) -> float:
    """Return the share of other accounts that use a language of the community.

    `away`: another country that the location names.
    """
    elsewhere = 1 - share_of_speakers(language, community.countries) if community.countries else 1.0
    share = 0.02 + 0.4 * elsewhere
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


def _sign(kind: str, location: Location | None, weight: float = 1.0) -> Sign | None:
    return None if location is None else Sign(kind, weight * location.ratio, location.found)


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
