"""From what a person wrote to the target meant: the part that is the same for every network."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import Facet, Subject, tag_form


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
            raise UserError(f"cannot tell what {text!r} is; write {self.accepted(facet)}")
        return found


def by_id(facet: Facet, written: str, handle: str) -> UserError:
    """The advice to somebody who wrote a handle where only an id will do."""
    return UserError(
        f"{facet.name} asks by the account's id, not by {written!r}: write the id (digits), "
        f"or seed the facet `profile` with @{handle} and let an edge lead to `{facet.name}`"
    )


def hashtag(written: str) -> str | None:
    """A hashtag in small letters and without its mark; None for what cannot be one."""
    tag = tag_form(written.removeprefix("#"))
    return tag if tag and not any(mark.isspace() or mark == "#" for mark in tag) else None
