"""From what a person wrote to the target meant: the part that is the same for every network."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import Facet, Subject


class Spelling(Struct, frozen=True):
    """How one network's targets may be written; each reader answers None for what it does not understand."""

    user: Callable[[str, Facet], str | None]
    post: Callable[[str], str | None]
    word: Callable[[str, Facet], str | None]
    accepted: Callable[[Facet], str]
    """What to write instead, in words."""

    def target(self, text: str, facet: Facet) -> str:
        """The target meant by an id, handle, address or word."""
        written = text.strip()
        match facet.subject:
            case Subject.USER:
                found = self.user(written, facet)
            case Subject.POST:
                found = self.post(written)
            case Subject.WORD:
                found = self.word(written, facet)
        if found is None:
            raise UserError(f"{facet.name}: cannot tell what {text!r} is; write {self.accepted(facet)}")
        return found
