"""What people may do on the dashboard."""

from __future__ import annotations

from enum import IntEnum

from bowerbird.errors import UserError


class Role(IntEnum):
    """Each may do what those before it may: see everything; steer crawls; and say who may do what."""

    READ = 1
    STEER = 2
    ADMIN = 3

    @property
    def word(self) -> str:
        """As it is stored and shown."""
        return self.name.lower()

    @classmethod
    def called(cls, word: str) -> Role:
        """The role of a word; raises `UserError` for any other."""
        try:
            return cls[word.strip().upper()]
        except KeyError:
            raise UserError(
                f"there is no role {word!r}", f"there are {', '.join(each.word for each in cls)}", code="unknown_name"
            ) from None
