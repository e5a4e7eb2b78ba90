"""What speaks for or against somebody's belonging, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp

from msgspec import Struct

from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Community

VERSION = "1"
"""Changes with the weights and rules of this folder."""
PROFILE = frozenset({"place", "zone", "declared", "name", "flag", "described", "words"})
"""Kinds of signs that a profile shows."""
WRITING = frozenset({"written", "variety", "rhythm"})
"""Kinds of signs that posts show."""
RELATIONS = "relations"
RESIDENCE = frozenset({"place", "zone", "described", "rhythm"})
"""Kinds of signs that tell where somebody lives. They go together, and many live where they are not from."""
DECLARED = "declared"
"""Speaks for a language of the community; against it, it tells where the device was bought."""
_MOST_HERE, _MOST_AWAY = 4.2, -3.8
"""What all of these may weigh together: to live elsewhere is not enough for a no."""
_MOST = 6.0
"""However much speaks for something, what nobody thought of may speak against it."""


class Sign(Struct, frozen=True, gc=False):
    """One piece of evidence; its weight is a logarithm of odds, positive where it speaks for belonging."""

    kind: str
    weight: float
    told: str
    """What was found, for people."""


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether somebody belongs, how likely it is, and why."""

    value: str
    score: float
    """How likely it is that the account belongs."""
    signs: tuple[Sign, ...] = ()

    @property
    def evidence(self) -> Mapping[str, str | float | None]:
        """By kind the weight and what was found; as judgements keep it."""
        told: dict[str, str | float | None] = {"score": self.score}
        for sign in self.signs:
            told[sign.kind] = round(sign.weight, 2)
            told[f"{sign.kind}_told"] = sign.told
        return told


def weighed(signs: Iterable[Sign], community: Community) -> Verdict:
    """The verdict of all signs together: a place may be outweighed by a variety, and the other way round."""
    found = tuple(signs)
    lives = sum(sign.weight for sign in found if _tells_residence(sign))
    rest = sum(sign.weight for sign in found if not _tells_residence(sign))
    total = max(-_MOST, min(_MOST, max(_MOST_AWAY, min(_MOST_HERE, lives)) + rest))
    score = 1 / (1 + exp(-total))
    value = YES if score >= community.yes else NO if 1 - score >= community.no else UNDECIDED
    return Verdict(value=value, score=round(score, 4), signs=tuple(sorted(found, key=lambda sign: -abs(sign.weight))))


def _tells_residence(sign: Sign) -> bool:
    return sign.kind in RESIDENCE or (sign.kind == DECLARED and sign.weight < 0)


def signs_in(evidence: Mapping[str, str | float | None], kinds: Iterable[str]) -> Sequence[Sign]:
    """The signs of these kinds that a judgement kept."""
    return [
        Sign(kind, float(weight), str(evidence.get(f"{kind}_told") or ""))
        for kind in sorted(kinds)
        if isinstance(weight := evidence.get(kind), int | float)
    ]
