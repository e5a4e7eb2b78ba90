"""What a user can do next about a crawl, as values."""

from __future__ import annotations

from msgspec import Struct


class Step(Struct, frozen=True, kw_only=True):
    """What a user can do next."""

    first: tuple[str, ...] = ()
    """What must be changed or waited for, each in words."""
    command: str = ""
    """What then goes on; empty: nothing can."""
    about: str = ""
    """What the command may spend, or why there is none."""
    month: str = ""
    """Which month's money is used up, and when it goes on."""

    def lines(self) -> list[tuple[str, str]]:
        """The last lines of a summary: what to do first, and the command, or that nothing is left to do."""
        if not self.command:
            return [("done", self.about)]
        about = [("note", self.about)] if self.about else []
        return [*(("first", each) for each in self.first), *about, ("go on", self.command)]

    def values(self) -> dict[str, object]:
        return {"go_on": self.command or None, "go_on_after": list(self.first)}
