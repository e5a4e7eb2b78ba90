"""What a name means beside others: which of many places, and how surely. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10
from typing import NamedTuple

from msgspec import Struct, structs

from bowerbird.analysis.places.index.entries import Entry, Level
from bowerbird.analysis.places.index.gazetteer import Hit


class Candidate(Struct, frozen=True, gc=False):
    """A place that a text may mean."""

    entry: Entry
    confidence: float
    point: tuple[float, float] | None = None
    """Longitude and latitude, where the text gives them itself."""


class Mention(NamedTuple):
    """A stretch of words that is some place's name."""

    hits: tuple[Hit, ...]
    words: int
    is_whole: bool
    """The part of the text is nothing but this name."""
    is_capital: bool = True
    is_word: bool = False
    """It is above all an ordinary word, and a place only beside its region: `Surprise, AZ`."""


def explains(mention: Mention, entry: Entry) -> bool:
    """Whether a name goes with the place found: is it, contains it, or lies in it."""
    return any(hit.entry.number == entry.number or entry.fits(hit.entry) or hit.entry.fits(entry) for hit in mention.hits)


def supported_city(mentions: Sequence[Mention]) -> Candidate | None:
    """The city that another name puts into its country or region."""
    best: tuple[float, Hit] | None = None
    for mention in mentions:
        others = [other for other in mentions if other is not mention and not other.is_word]
        regions = [hit.entry for hit in mention.hits if hit.entry.level is not Level.CITY and not hit.is_code]
        is_region = any(_support(region, other) for region in regions if region.population for other in others)
        for hit in mention.hits:
            # `Missouri, USA` is the state, whichever town may also be called so.
            if hit.entry.level is not Level.CITY or (is_region and (hit.is_other or hit.entry.population < 300_000)):
                continue
            support = max((_support(hit.entry, other, needs_region=mention.is_word) for other in others), default=0.0)
            score = support * 10 + _weight(hit)
            if support and (best is None or score > best[0]):
                best = score, hit
    return Candidate(best[1].entry, 0.95) if best else None


def _support(entry: Entry, mention: Mention, *, needs_region: bool = False) -> float:
    """How strongly a name says that the place lies in what it names."""
    containers = (hit for hit in mention.hits if hit.entry.level < entry.level and entry.fits(hit.entry))
    return max((_strength(hit) for hit in containers if not needs_region or hit.entry.region), default=0.0)


def _strength(container: Hit) -> float:
    """How much a container says: two letters are more often an American state than a country."""
    if not container.is_code:
        return 2.0
    return 1.8 if container.entry.level is Level.REGION and container.entry.country == "US" else 1.0


def _weight(hit: Hit) -> float:
    return log10(hit.entry.population + 1) - (1.5 if hit.is_other else 0.0)


def named_container(mentions: Sequence[Mention]) -> Candidate | None:
    """The country or region that is named, unless the same name is above all that of a city."""
    best: tuple[float, Hit, Mention] | None = None
    for mention in mentions:
        for hit in mention.hits:
            if mention.is_word or hit.entry.level is Level.CITY or _is_rather_city(hit, mention):
                continue
            inside = any(_support(hit.entry, other) for other in mentions if other is not mention)
            score = weight_ofnamed_container(hit) + 5 * (inside and hit.entry.level is Level.REGION)
            if best is None or score > best[0]:
                best = score, hit, mention
    if best is None:
        return None
    _, hit, mention = best
    sure = 0.95 if hit.entry.level is Level.COUNTRY else 0.9
    if hit.is_code and hit.entry.country != "US":
        # Two letters alone are more often something else.
        sure = 0.6
    return Candidate(hit.entry, sure if mention.is_whole else sure - 0.12)


def weight_ofnamed_container(hit: Hit) -> float:
    if hit.entry.level is Level.COUNTRY:
        return 6.0 if hit.is_code else 9.0
    # A region whose people are not counted is one that the towns could not be sorted into.
    return 9.5 if hit.entry.country == "US" else 8.0 if hit.entry.population else 5.0


def _is_rather_city(hit: Hit, mention: Mention) -> bool:
    is_counted = hit.entry.population > 0
    cities = [each for each in mention.hits if each.entry.level is Level.CITY and not (each.is_other and is_counted)]
    largest = max((other.entry.population for other in cities), default=0)
    if hit.entry.level is Level.COUNTRY or hit.is_code:
        return hit.is_code and largest > 1_000_000
    if hit.entry.country == "US":
        return hit.entry.region == "NY" and largest > 1_000_000
    return largest >= (100_000 if hit.entry.population else 15_000)


_STEPS = ((3_000_000, 0.93), (1_000_000, 0.9), (300_000, 0.82), (100_000, 0.72), (50_000, 0.62), (15_000, 0.5), (5_000, 0.35))


def lone_city(mentions: Sequence[Mention]) -> Candidate | None:
    """The likeliest of cities that nothing beside them explains; who names two means above all the first."""
    found = [each for mention in mentions if not mention.is_word for each in _cities(mention)]
    first = found[0].confidence + 0.15 if found else 0.0
    return next((each for each in found[1:] if each.confidence > first), found[0] if found else None)


def _cities(mention: Mention) -> Iterator[Candidate]:
    cities = sorted((hit for hit in mention.hits if hit.entry.level is Level.CITY), key=_weight, reverse=True)
    if not cities:
        return
    first, rest = cities[0], cities[1:]
    sure = next((step for people, step in _STEPS if first.entry.population >= people), 0.2)
    if first.is_other or first.is_code:
        sure -= 0.1
    if mention.words > 1:
        sure += 0.1
    if all(hit.entry.country == first.entry.country for hit in rest):
        sure += 0.08
    if not mention.is_capital and mention.words == 1:
        sure -= 0.05
    rival = max((hit.entry.population for hit in rest if hit.entry.country != first.entry.country), default=0)
    if rival > 0.3 * first.entry.population:
        sure -= 0.1
    yield Candidate(first.entry, min(sure, 0.95) if mention.is_whole else min(sure, 0.95) - 0.07)


def ranked(found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Each place once, likeliest first, earlier before later; who names several is at one of them at a time."""
    weights = {each.entry.number: each.confidence - 0.12 * place for place, each in reversed(list(enumerate(found)))}
    by_place = {each.entry.number: each for each in found}
    shared = 1.0 if len({each.entry.country for each in by_place.values()}) < 2 else 0.9 if len(by_place) < 3 else 0.7
    ranked = sorted(by_place.values(), key=lambda each: -weights[each.entry.number] - 0.05 * (each.entry.level is Level.CITY))
    return tuple(structs.replace(each, confidence=round(each.confidence * shared, 3)) for each in ranked)
