"""The evidence of a decision in words for people: the same in the terminal and on pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

SIGNS: Mapping[str, str] = {
    "place": "location",
    "zone": "time zone",
    "declared": "language set",
    "name": "name",
    "flag": "flags",
    "bio_language": "language of the description",
    "described": "place in the description",
    "words": "words in the profile",
    "learned_words": "learned words",
    "written": "language of posts",
    "variety": "variety",
    "relations": "judged neighbours",
    "seed": "seed of the crawl",
}
"""By kind of sign, in the order in which signs of equal weight are listed."""
REASONS: Mapping[str, str] = {
    "profile": "by the profile",
    "posts": "by the posts",
    "relations": "by the accounts around it",
    "person": "by a person",
}
VALUES: Mapping[str, str] = {"yes": "belongs", "no": "does not belong", "undecided": "undecided", "": "not judged yet"}
_NOT_SIGNS = frozenset({"probability", "prior", "log_odds", "score", "posts", "note", "was"})
_CLEAR, _STRONG = 1.0, 2.5
"""Logarithms of odds: from there on a sign is more than a hint, and strong."""


class Sign(Struct, frozen=True):
    """One piece of evidence."""

    kind: str
    what: str
    """What was looked at."""
    found: str
    weight: float
    """Positive where it speaks for belonging."""

    @property
    def side(self) -> str:
        """`speaks strongly for it`."""
        size = abs(self.weight)
        how = "strongly " if size >= _STRONG else "" if size >= _CLEAR else "a little "
        return f"speaks {how}{'for' if self.weight > 0 else 'against'} it"


def signs_of(evidence: Mapping[str, object]) -> list[Sign]:
    """What speaks for and against somebody's belonging, the weightiest first."""
    found = [
        Sign(kind, what, str(evidence.get(f"{kind}_found") or ""), float(weight))
        for kind, what in SIGNS.items()
        if isinstance(weight := evidence.get(kind), int | float)
    ]
    return sorted(found, key=lambda sign: -abs(sign.weight))


def told_of(evidence: Mapping[str, object]) -> Iterator[str]:
    """The evidence in short sentences: `location: Lisboa (PT), speaks strongly for it`."""
    signs = signs_of(evidence)
    for sign in signs:
        yield f"{sign.what}: {sign.found}, {sign.side}" if sign.found else f"{sign.what} {sign.side}"
    posts = evidence.get("posts")
    if isinstance(posts, int | float):
        yield f"{int(posts):,} posts were read"
    if note := evidence.get("note"):
        yield f"note: {note}"
    if not signs:
        # Other judges keep what they went by in words of their own.
        yield from (f"{_spoken(key)}: {value}" for key, value in evidence.items() if _is_told(key, value))


def judged_words(reason: str, decided_by: str | None = None) -> str:
    """`by the posts`, or `by Ana`."""
    return f"by {decided_by}" if decided_by else REASONS.get(reason, f"by {_spoken(reason)}")


def sure_words(value: str | None) -> str:
    """What a confidence is about: `sure` of a decision; of an undecided account, that it is a member."""
    return "likely to belong, too little to decide" if value == "undecided" else "sure"


def _spoken(key: str) -> str:
    return SIGNS.get(key) or key.replace("_", " ")


def _is_told(key: str, value: object) -> bool:
    return key not in _NOT_SIGNS and value not in (None, "")
