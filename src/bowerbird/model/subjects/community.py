"""A community: what its people have in common, as a file describes it, and how judged accounts stand around one."""

from __future__ import annotations

from msgspec import Struct

JUDGE = "community"
"""The judge that says who belongs."""
YES, NO, UNDECIDED = "yes", "no", "undecided"
VALUES = (YES, NO, UNDECIDED)
CALIBRATED, ECHO = "calibrated", "echo"
RULES = (CALIBRATED, ECHO)
"""How signs become a decision: by a calibrated probability, or by TwitterEcho's two proofs."""


class Community(Struct, frozen=True, kw_only=True):
    """What tells who belongs. Every kind of evidence may be left out."""

    name: str
    rule: str = CALIBRATED
    yes: float = 0.7
    """The probability from which an account is a member."""
    no: float = 0.98
    """The probability from which an account is not a member."""
    countries: tuple[str, ...] = ()
    """ISO 3166, two letters."""
    own_places: tuple[str, ...] = ()
    """More names that mean a place of the community, which no list of places has."""
    other_places: tuple[str, ...] = ()
    """Names that look like one and are none."""
    zones: tuple[str, ...] = ()
    """Of the IANA database: `Europe/Lisbon`."""
    languages: tuple[str, ...] = ()
    varieties: tuple[str, ...] = ()
    other_varieties: tuple[str, ...] = ()
    name_countries: tuple[str, ...] = ()
    """Whose names fit."""
    own_words: tuple[str, ...] = ()
    """Words in profiles that speak for it."""
    other_words: tuple[str, ...] = ()
    """Words in profiles that speak against it."""
    searches: tuple[str, ...] = ()
    """Searched for, to find people."""
    learns_words: bool = False
    """Learn words of descriptions from the seeds and the members: for a field, such as journalists."""
    uses_relations: bool = True
    """Whether judged neighbours count."""

    @property
    def is_field(self) -> bool:
        """Whether members share what they do, and not where they are from."""
        return self.learns_words or not (self.countries or self.languages or self.zones)

    @property
    def is_reviewed(self) -> bool:
        """Whether the crawl learns from its decisions and looks again at undecided accounts."""
        return self.rule == CALIBRATED


class Neighbours(Struct, frozen=True, gc=False):
    """How many accounts around one are judged to belong (`in`) and not to belong (`out`), by how they are related to it."""

    followed_in: int = 0
    """Who follow it."""
    followed_out: int = 0
    mentioned_in: int = 0
    """Who mention it."""
    mentioned_out: int = 0
    follows_in: int = 0
    """Whom it follows."""
    follows_out: int = 0

    @property
    def known(self) -> int:
        return sum(self.counts)

    @property
    def counts(self) -> tuple[int, ...]:
        return (
            self.followed_in, self.followed_out, self.mentioned_in, self.mentioned_out, self.follows_in, self.follows_out,
        )  # fmt: skip


NO_NEIGHBOURS = Neighbours()
