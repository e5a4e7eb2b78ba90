"""Find places in text: the location field of a profile, a description, a post.

A location field is read in four steps. (1) Coordinates and flags are read directly; addresses and numbers are removed, and
initials joined (`N. Y.`). (2) The rest is split into alternatives (`Lisbon / Berlin`), and each alternative into parts, from
small to large (`Paris, TX`). (3) Each part is looked up as a whole, then by the names inside it; each name found is a `Mention`
with every place it may mean. (4) The mentions of one alternative decide together: a city that another mention contains (`Paris,
TX`) before a country or region, and that before the largest city. Words that belong to no place lower the confidence: the text
may be a slogan or a joke. Ordinary words that are also villages (`Surprise`) count only beside their region.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from math import log10
from operator import itemgetter
from pathlib import Path
from unicodedata import normalize

from msgspec import Struct, structs

from bowerbird.analysis.places.gazetteer import Entry, Gazetteer, Hit, Level, fold, open_gazetteer
from bowerbird.analysis.places.tables import ORDINARY_WORDS, WORD_CODES
from bowerbird.analysis.word_search import MARKS

MIN_CONFIDENCE = 0.5
_MAX_LENGTH = 300
"""Characters of a location field that are read."""
_DECAY = 0.88
"""The confidence is multiplied by this for each word that belongs to no place."""

_POINT = re.compile(r"(?<![\d.\-])(-?\d{1,2}\.\d{2,})\s*,\s*(-?\d{1,3}\.\d{2,})(?!\.?\d)")
_FLAG = re.compile("([\U0001f1e6-\U0001f1ff])([\U0001f1e6-\U0001f1ff])")
_NOISE = re.compile(r"https?://\S+|www\.\S+|[^\s@]+@[^\s@]+\.\S+|(?<!\w)@\w+|\b[A-Z]{0,2}\d[\w-]*\b")
_INITIALS = re.compile(r"(?<![\w'\u2019.])[A-Za-z](?:(?:\. ?| )[A-Za-z])+(?![\w'\u2019])\.?")
_CONTINENTS = re.compile(r"\b(?:north|south|central|latin) america\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_ALTERNATIVES = re.compile(
    r"\s*(?:[/\\|•·∙&→✈➡;~+*=☆★♥»>]|\s(?:and|or|y|et|und|e|ou|to|via|then|now|formerly|by way of|but)\s)\s*",
    re.IGNORECASE,
)
_PARTS = re.compile(r"\s*(?:[,:()\[\]{}\u2013—،、\uff0c…!?\"“”]|\s-+\s?|-+\s|(?<=\w{4})\.\s|\.$)\s*")
_LETTERS = rf"(?:[^\W_][{MARKS}]*)+"
_WORD = re.compile(rf"{_LETTERS}(?:[.'\u2019\-]{_LETTERS})*\.?")
_CAMEL = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])")
_PREFIX_WORDS = """n s e w ne nw se sw north south east west northern southern eastern western
northeast northwest southeast southwest upper lower mid
the greater near nr around from in at based living live lives located downtown metro city of outside
originally currently born raised somewhere en em à a de desde im aus uit i now deep beautiful sunny lovely great always my home
area just here mostly usually proudly proud historic old state country via out central capital"""
_SUFFIX_WORDS = "area metro region city suburbs based born native bound state province the county downtown and of"
_PREFIXES = frozenset(_PREFIX_WORDS.split())
_SUFFIXES = frozenset(_SUFFIX_WORDS.split())
_FILLERS = _PREFIXES | _SUFFIXES
"""Words beside a name that say nothing for or against it."""

MAX_PROSE = 2_000
"""Characters of a description or post that are read."""
_PIN = re.compile("[📍📌🏠🏡]\ufe0f?\\s*([^|\\n•·📍📌🏠🏡]{2,60})")
_BASED_IN = re.compile(
    r"\b(?:[Bb]ased|[Ll]iving|[Ll]ives?|[Ll]ocated|[Rr]esiding|[Mm]oro|[Vv]ivo)"
    r"\s+(?:in|at|near|em|en)\s+(\w[^.|\n•;!?]{1,50})"
)
_BORN_IN = re.compile(r"\b(?:[Bb]orn(?: and raised)?|[Rr]aised|[Nn]ative)\s+(?:in|at|near|of)\s+(\w[^.|\n•;!?]{1,50})")
_SECTIONS = re.compile(r"[|\n•·]")
_PREPOSITION = re.compile(
    r"\b(?:[Ii]n|[Nn]ear|[Ff]rom|[Ee]m|[Ee]n|[Aa]t|no|[Nn]a|[Ss]ur|[Bb]ei|[Aa]us|[Nn]ach|[Dd]a|[Àà])\s+"
    r"((?:(?:St|Mt|Ft)\.\s)?[A-ZÀ-Þ][\w'\u2019-]+(?:,?\s[A-ZÀ-Þ][\w'\u2019-]+){0,3})"
)
_LARGE_CITY = 100_000


class Candidate(Struct, frozen=True, gc=False):
    """A place that a text may mean."""

    entry: Entry
    confidence: float
    point: tuple[float, float] | None = None
    """Longitude and latitude, if the text contains them."""


class Mention(Struct, frozen=True, gc=False):
    """A stretch of words that is the name of some place."""

    hits: tuple[Hit, ...]
    words: int
    is_whole: bool
    """The part of the text consists of this name."""
    is_ordinary: bool = False
    """The name is an ordinary word, and a place only beside its region: `Surprise, AZ`."""
    max_confidence: float = 1.0
    """0: the name places the names beside it, but never a text by itself, such as `me` in `Portland me`."""

    @property
    def containers(self) -> tuple[Hit, ...]:
        """The countries and regions of this name."""
        return tuple(hit for hit in self.hits if hit.entry.level is not Level.CITY)


class Resolver:
    """Finds places in text. The same text always gives the same result."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self.gazetteer = gazetteer
        self._resolve = lru_cache(maxsize=100_000)(self._resolve_location)

    def best(self, text: str, least: float = MIN_CONFIDENCE) -> Candidate | None:
        """Return the first place of a location field, or None if it is less certain than `least`."""
        candidates = self.resolve(text)
        return candidates[0] if candidates and candidates[0].confidence >= least else None

    def in_description(self, text: str) -> Candidate | None:
        """Return the place that an account names as its own in its description."""
        text = normalize("NFC", text[:MAX_PROSE])
        # Where a person lives counts before where the person was born.
        patterns = (_PIN, _BASED_IN, _BORN_IN)
        explicit = [match[1] for pattern in patterns for match in pattern.finditer(text)]
        for place in explicit:
            if found := self.best(place, 0.55):
                return _scaled(found, 0.85)
        for section in _SECTIONS.split(text):
            found = self.best(section, 0.94) if len(section.split()) <= 5 else None
            if found is not None and found.entry.level is Level.CITY:
                return _scaled(found, 0.75)
        return None

    def in_post(self, text: str, tags: Sequence[str]) -> Candidate | None:
        """Return the place that a post names after a preposition such as `in`, or as a hashtag."""
        plain = _without_noise(normalize("NFC", text[:MAX_PROSE]))
        names = [match[1] for match in _PREPOSITION.finditer(plain)]
        # Shorter hashtags may abbreviate anything.
        for name in (*names, *(tag for tag in tags if len(tag) >= 5)):
            found = self.best(name, 0.8)
            if found and (found.entry.level is not Level.CITY or found.entry.population >= _LARGE_CITY):
                return _scaled(found, 0.65)
        return None

    def resolve(self, text: str) -> tuple[Candidate, ...]:
        """Return the places that a location field may mean, one for each alternative that is a place.

        The order is by confidence, where each earlier alternative counts 0.12 less and a city 0.05
        more: in `Lisbon / Berlin`, Lisbon is first although fewer other towns are called Berlin.
        """
        return self._resolve(normalize("NFC", text[:_MAX_LENGTH]))

    def _resolve_location(self, text: str) -> tuple[Candidate, ...]:
        if match := _POINT.search(text):
            latitude, longitude = float(match[1]), float(match[2])
            if abs(latitude) <= 90 and abs(longitude) <= 180:
                town = self.gazetteer.nearest(longitude, latitude)
                return (Candidate(town, 0.97, (longitude, latitude)),) if town else ()
        plain = _without_noise(text)
        flags = [
            hit
            for country in flags_in(text)
            for hit in self.gazetteer.find(country)
            if hit.entry.level is Level.COUNTRY and hit.entry.country == country
        ]
        texts = [plain] if self._mention(plain, 1) else [each for each in _ALTERNATIVES.split(plain) if each]
        found = [best for each in texts if (best := self._resolve_alternative(each, flags))]
        if not found:
            found = [Candidate(hit.entry, 0.9) for hit in flags]
        return _rank(found)

    def _resolve_alternative(self, text: str, flags: Sequence[Hit]) -> Candidate | None:
        parts = [part for part in _PARTS.split(text) if any(letter.isalpha() for letter in part)]
        mentions, unread = self._mentions(parts)
        mentions += [Mention((hit,), 1, is_whole=True) for hit in flags]
        best = _supported_city(mentions) or _region_or_country(mentions) or _largest_city(mentions)
        if best is None:
            return None
        entry = best.entry
        unread += sum(each.words for each in mentions if not any(entry.lies_in(hit.entry) for hit in each.hits))
        if entry.region == "DC" and entry.level is Level.REGION:
            # The District of Columbia is the city.
            hits = (hit.entry for hit in self.gazetteer.find("Washington"))
            entry = next(each for each in hits if each.level is Level.CITY and each.region == "DC")
        return Candidate(entry, round(best.confidence * _DECAY**unread, 3))

    def _mentions(self, parts: Sequence[str]) -> tuple[list[Mention], int]:
        """Return the names in the parts of one alternative, and how many words belong to none."""
        mentions: list[Mention] = []
        unread = 0
        # Capitals mark names only in a text with words such as `Austin`, not in `austin TX`.
        words_of_text = " ".join(parts).split()
        has_case = any(word[0].isupper() and not word.isupper() for word in words_of_text)
        for number, part in enumerate(parts):
            if whole := self._whole(_WORD.findall(part), is_first=number == 0):
                mentions.append(whole)
                continue
            # Also split `Raleigh-Durham` and `NewYork`.
            words = _WORD.findall(_CAMEL.sub(" ", part.replace("-", " ")))
            at = 0
            while at < len(words):
                mention = self._mention_at(words, at, has_case=has_case)
                if mention is not None:
                    mentions.append(mention)
                elif words[at].casefold() not in _FILLERS:
                    unread += 1
                at += mention.words if mention else 1
        return mentions, unread

    def _whole(self, words: Sequence[str], *, is_first: bool) -> Mention | None:
        """Look a part up as one name, with and without words such as `greater` or `area`; the longest name counts."""
        low, high = 0, len(words)
        while low < high - 1 and words[low].casefold() in _PREFIXES:
            low += 1
        while high > low + 1 and words[high - 1].casefold() in _SUFFIXES:
            high -= 1
        ranges = [(start, end) for start in range(low + 1) for end in range(high, len(words) + 1)]
        for start, end in sorted(ranges, key=lambda each: (each[0] - each[1], -each[0])):
            name = " ".join(words[start:end])
            # `Austin, tx`: after another name, two letters are an abbreviation also in small letters.
            is_raised = not is_first and len(name) == 2 and name != name.upper()
            mention = self._mention(name.upper() if is_raised else name, end - start)
            # `North San Diego County`: several states may have a county of this name.
            is_county = mention and all(hit.is_alternative and hit.entry.level is Level.REGION for hit in mention.hits)
            if mention and not (is_county and end - start < len(words)):
                return mention
        return None

    def _mention_at(self, words: Sequence[str], at: int, *, has_case: bool) -> Mention | None:
        """Return the longest name, of at most four words, that starts at a word of a longer part."""
        for size in range(min(4, len(words) - at), 0, -1):
            name = " ".join(words[at : at + size])
            is_last = at > 0 and at + size == len(words)
            is_code = is_last and len(name) == 2 and name != name.upper()
            if is_code and (mention := self._container(name.upper(), size)):
                return mention
            if has_case and not _is_capital(name):
                if is_last and len(name) > 3 and (mention := self._container(name, size)):
                    return mention
                continue
            if mention := self._mention(name, size, is_whole=False):
                return mention
        return None

    def _container(self, name: str, words: int) -> Mention | None:
        """Return the country, region or state code that places the name before it: `Mason texas`, `Albany Ga`."""
        is_code = len(name) == 2
        hits = tuple(
            hit
            for hit in self.gazetteer.find(name)
            if hit.entry.level is not Level.CITY and hit.is_code is is_code and (not is_code or hit.entry.country == "US")
        )
        return Mention(hits, words, is_whole=False, max_confidence=0.0) if hits else None

    def _mention(self, name: str, words: int, *, is_whole: bool = True) -> Mention | None:
        hits = self.gazetteer.find(name)
        letters = name.replace(".", "")
        max_confidence = 1.0
        if letters in WORD_CODES:
            # `OR` by itself may be Oregon; inside a sentence, and where no state has the code, it is a word.
            max_confidence = 0.6 if is_whole and any(hit.entry.country == "US" for hit in hits) else 0.0
        is_ordinary = fold(name) in ORDINARY_WORDS
        if is_ordinary and len(letters) <= 3 and letters.isupper():
            # `IN` may be Indiana, although `in` is a word.
            is_ordinary = False
            if letters not in {"LA", "US"}:
                hits = tuple(hit for hit in hits if hit.is_code and hit.entry.level is not Level.CITY)
        return Mention(hits, words, is_whole, is_ordinary, max_confidence) if hits else None


@cache
def open_resolver(folder: Path) -> Resolver:
    """Return the resolver over the index in a cache folder: one per process; the index is built if it is missing."""
    return Resolver(open_gazetteer(folder))


def flags_in(text: str) -> tuple[str, ...]:
    """Return the country codes of the flags in a text."""
    return tuple("".join(chr(ord(mark) - 0x1F1E6 + ord("A")) for mark in pair) for pair in _FLAG.findall(text))


def _without_noise(text: str) -> str:
    """Return the text without addresses, numbers, handles, flags and continents, and with initials joined: `N. Y.` is `NY`."""
    text = _POSSESSIVE.sub("", _NOISE.sub(" ", _FLAG.sub(" ", text)))
    # A name does not continue on the next line.
    lines = (" ".join(line.split()) for line in text.splitlines())
    words = " | ".join(line for line in lines if line)
    return _INITIALS.sub(_join_initials, _CONTINENTS.sub(" ", words)).strip()


def _join_initials(match: re.Match[str]) -> str:
    letters = "".join(letter for letter in match[0] if letter.isalpha())
    is_word = letters in ORDINARY_WORDS and "." not in match[0]
    return letters if is_word else letters.upper()


def _is_capital(name: str) -> bool:
    """Return True if the name starts with a capital or is in a script without them."""
    first = next((letter for letter in name if letter.isalpha()), "a")
    return first != first.lower() or first.upper() == first.lower()


def _scaled(candidate: Candidate, factor: float) -> Candidate:
    return structs.replace(candidate, confidence=round(candidate.confidence * factor, 3))


def _support(entry: Entry, mention: Mention, *, needs_region: bool = False) -> float:
    """Return how strongly a mention supports that the place lies in what it names, or 0."""
    best = 0.0
    names_state = any(hit.entry.level is Level.REGION and hit.entry.country == "US" for hit in mention.containers)
    for hit in mention.containers:
        container, is_region = hit.entry, hit.entry.level is Level.REGION
        if container.level >= entry.level or not entry.lies_in(container) or (needs_region and not container.region):
            continue
        # `MI` is Milan's province, and `KY` the Cayman Islands, only beside a town of some size.
        if hit.is_code and container.country != "US" and names_state and entry.population < 15_000:
            continue
        strength = 2.0 if is_region else 1.7
        if hit.is_code:
            # Two letters are more often an American state than a country.
            strength = 1.95 if is_region and container.country == "US" else 1.0
        best = max(best, strength)
    return best


def _weight(hit: Hit) -> float:
    return log10(hit.entry.population + 1) - (1.5 if hit.is_alternative else 0.0)


def _supported_city(mentions: Sequence[Mention]) -> Candidate | None:
    """Return the city that another mention puts into its country or region."""
    candidates: list[tuple[float, Entry]] = []
    # Each name once, for texts that repeat one; `New York, New York` supports itself.
    times = Counter(mentions)
    for mention in times:
        others = [each for each in times if each.containers and not each.is_ordinary and (each != mention or times[each] > 1)]
        named = [hit.entry for hit in mention.containers if not hit.is_code]
        countries = {entry.country for entry in named if entry.level is Level.COUNTRY}
        is_region = any(_support(region, other) for region in named if region.population for other in others)
        for hit in mention.hits:
            if hit.entry.level is not Level.CITY or (hit.is_code and mention.containers):
                continue
            people = hit.entry.population
            # `Maputo, Mozambique` is not the island.
            is_country = hit.entry.country in countries and people < _LARGE_CITY
            # `Missouri, USA` is the state, although there is a town of this name.
            if is_country or (is_region and (hit.is_alternative or people < 300_000)):
                continue
            support = max((_support(hit.entry, other, needs_region=mention.is_ordinary) for other in others), default=0.0)
            if support:
                candidates.append((support * 10 + _weight(hit) - hit.is_alternative, hit.entry))
    return Candidate(max(candidates, key=itemgetter(0))[1], 0.95) if candidates else None


def _region_or_country(mentions: Sequence[Mention]) -> Candidate | None:
    """Return the region or country that is named, unless the name is first of all that of a city."""
    candidates: list[tuple[float, Candidate]] = []
    for mention in mentions:
        if mention.is_ordinary or mention.max_confidence == 0:
            continue
        for hit in mention.containers:
            if _is_rather_city(hit, mention):
                continue
            is_country, is_american = hit.entry.level is Level.COUNTRY, hit.entry.country == "US"
            is_inside = any(_support(hit.entry, other) for other in mentions if other is not mention)
            score = 9.0 if is_country else 9.5 if is_american else 8.0
            confidence = 0.6 if hit.is_code and not is_american else 0.95 if is_country else 0.9
            if not mention.is_whole:
                # Many unusual regions have names that are words of a sentence.
                is_unusual = not is_country and not hit.entry.population and not is_inside
                confidence = 0.5 if is_unusual else confidence - 0.12
            candidate = Candidate(hit.entry, min(confidence, mention.max_confidence))
            candidates.append((score + 5 * is_inside - hit.is_alternative, candidate))
    return max(candidates, key=itemgetter(0))[1] if candidates else None


def _is_rather_city(hit: Hit, mention: Mention) -> bool:
    """Return True if a name of a region more often means a city: `New York`, but not `Washington`."""
    largest = max((each.entry.population for each in mention.hits if each.entry.level is Level.CITY), default=0)
    if hit.entry.level is Level.COUNTRY or hit.is_code:
        return hit.is_code and largest > 1_000_000
    if hit.entry.country == "US":
        return hit.entry.region == "NY" and largest > 1_000_000
    return largest >= (100_000 if hit.entry.population else 15_000)


def _largest_city(mentions: Sequence[Mention]) -> Candidate | None:
    """Return the most probable city where no mention supports another; of equal ones the first."""
    found = [city for mention in mentions if (city := _lone_city(mention))]
    return max(found, key=lambda city: city.confidence, default=None)


_CONFIDENCE_BY_POPULATION = (
    (3_000_000, 0.93),
    (1_000_000, 0.9),
    (300_000, 0.82),
    (100_000, 0.72),
    (50_000, 0.62),
    (15_000, 0.5),
    (5_000, 0.35),
)


def _lone_city(mention: Mention) -> Candidate | None:
    """Return the largest city of a name; less certain if the name is short or shared."""
    cities = sorted((hit for hit in mention.hits if hit.entry.level is Level.CITY), key=_weight, reverse=True)
    if not cities or mention.is_ordinary or mention.max_confidence == 0:
        return None
    first, people = cities[0], cities[0].entry.population
    elsewhere = [hit.entry.population for hit in cities if hit.entry.country != first.entry.country]
    adjustments = (
        (first.is_alternative or first.is_code, -0.1),
        (mention.words > 1, 0.1),
        (not elsewhere, 0.08),
        (max(elsewhere, default=0) > 0.3 * people, -0.1),
    )
    confidence = next((value for least, value in _CONFIDENCE_BY_POPULATION if people >= least), 0.2)
    confidence += sum(change for applies, change in adjustments if applies)
    # An airport code: most users who write three capitals mean something else.
    is_airport = first.is_code and first.entry.country != "US"
    confidence = min(confidence, 0.4 if is_airport else 0.95)
    return Candidate(first.entry, confidence if mention.is_whole else confidence - 0.07)


def _rank(found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Order the places of the alternatives as `Resolver.resolve` describes, each place once."""
    weights = [each.confidence - 0.12 * number + 0.05 * (each.entry.level is Level.CITY) for number, each in enumerate(found)]
    unique: dict[int, Candidate] = {}
    for number in sorted(range(len(found)), key=lambda number: -weights[number]):
        unique.setdefault(found[number].entry.number, found[number])
    return tuple(unique.values())
