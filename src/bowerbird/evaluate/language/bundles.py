"""Sets of posts as TwitterEcho was measured with: 30 to 100 of one person, 41 % of the sets European, some in two languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random

from msgspec import Struct

from bowerbird.evaluate.language.sources import Posts, Source

SIZES = ((30, 40), (41, 60), (61, 80), (81, 100))
PREVALENCE = 226 / 550
"""Share of European Portuguese among TwitterEcho's 550 sets."""
_MIXED_OF_POSITIVE = 24 / 226
_MIXED_OF_NEGATIVE = 12 / 324
"""From its tables 5.4 and 5.5: what the sets in several languages were, by which language they mainly were."""
_MAIN, _MINOR = (0.6, 0.8), (0.2, 0.4)


class Kind(StrEnum):
    EUROPEAN = "pt-PT"
    MAINLY_EUROPEAN = "mainly pt-PT"
    BRAZILIAN = "pt-BR"
    OTHER = "other language"
    MAINLY_OTHER = "mainly other language"

    @property
    def is_positive(self) -> bool:
        return self in (Kind.EUROPEAN, Kind.MAINLY_EUROPEAN)

    @property
    def is_mixed(self) -> bool:
        return self in (Kind.MAINLY_EUROPEAN, Kind.MAINLY_OTHER)


class Bundle(Struct, frozen=True):
    kind: Kind
    posts: Posts


class Drawer:
    """Draws bundles of one source; other languages come from tweets."""

    def __init__(self, source: Source, others: Mapping[str, Posts], seed: int) -> None:
        self._source = source
        self._others = others
        self._far = sorted(others.keys() - {"es", "en"})
        self._random = Random(seed)

    def bundles(self, size: tuple[int, int], number: int) -> Sequence[Bundle]:
        positive = round(number * PREVALENCE)
        mainly = round(positive * _MIXED_OF_POSITIVE)
        negative = number - positive
        minor = round(negative * _MIXED_OF_NEGATIVE)
        brazilian = (negative - minor) // 2
        kinds = {
            Kind.EUROPEAN: positive - mainly,
            Kind.MAINLY_EUROPEAN: mainly,
            Kind.BRAZILIAN: brazilian,
            Kind.OTHER: negative - minor - brazilian,
            Kind.MAINLY_OTHER: minor,
        }
        return [self._bundle(kind, size) for kind, many in kinds.items() for _ in range(many)]

    def _bundle(self, kind: Kind, size: tuple[int, int]) -> Bundle:
        number = self._random.randint(*size)
        share = {Kind.MAINLY_EUROPEAN: _MAIN, Kind.MAINLY_OTHER: _MINOR}.get(kind, (1.0, 1.0))
        own = 0 if kind is Kind.OTHER else round(number * self._random.uniform(*share))
        posts = self._one_person(kind, own, size[0] if own == number else own) if own else []
        return Bundle(kind, [*posts, *self._in_another_language(number - own, kind)])

    def _one_person(self, kind: Kind, number: int, least: int) -> Posts:
        """Posts of one author; those who wrote less than `least` are left out."""
        people = self._source.brazilian if kind is Kind.BRAZILIAN else self._source.european
        fitting = [posts for posts in people.values() if len(posts) >= least]
        posts = self._random.choice(fitting)
        return self._random.sample(posts, min(number, len(posts)))

    def _in_another_language(self, number: int, kind: Kind) -> Posts:
        """Beside Portuguese it is mostly English (thesis, 5.2.2); alone Spanish, English and the others have a third each."""
        if not number:
            return []
        third = "en" if kind.is_mixed else self._random.choice(("es", "en", self._random.choice(self._far)))
        return self._random.sample(self._others[third], number)
