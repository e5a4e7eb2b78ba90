"""Areas on the X API: rules of the filtered stream or searches, in boxes as small as the network takes them."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import Area, Box, Geography
from bowerbird.providers.places import degrees, tiles
from bowerbird.providers.x.streams.channels import DESK

WAYS = ("stream", "search")
_SIDE = 40.0
"""A bounding box must be narrower and lower than 25 miles."""
_MOST = 2_000
_LONGEST_RULE, _LONGEST_QUERY = 1_024, 512


def geography(areas: Sequence[Area], way: str) -> Geography:
    """The areas as rules or as queries; a country is asked for by its code."""
    terms = [_terms(area) for area in areas]
    if way == "stream":
        rules = [rule for area in terms for rule in _joined(area, _LONGEST_RULE)]
        return Geography(stream=DESK("filter", {"rules": rules}))
    queries = [query for area in terms for query in _joined(area, _LONGEST_QUERY)]
    return Geography(searches=tuple(("search", query) for query in dict.fromkeys(queries)))


def _terms(area: Area) -> list[str]:
    if area.country and not area.region:
        return [f"place_country:{area.country}"]
    return [_box(tile) for tile in tiles(area, _SIDE, _MOST)]


def _box(box: Box) -> str:
    return f"bounding_box:[{' '.join(map(degrees, (box.west, box.south, box.east, box.north)))}]"


def _joined(terms: Sequence[str], longest: int) -> list[str]:
    """As few texts as possible, each of terms joined by OR."""
    texts: list[str] = []
    for term in terms:
        if texts and len(texts[-1]) + len(term) + 4 <= longest:
            texts[-1] += f" OR {term}"
        else:
            texts.append(term)
    return texts
