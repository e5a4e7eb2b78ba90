"""What was tried, and what got through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import Struct, field


class Tally(Struct):
    """Counts of one evaluation: how often each kind of attack was tried, and what it found."""

    say: Callable[[str], None] = print
    tried: Counter[str] = field(default_factory=Counter)
    let_in: list[str] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """Pages that failed on what they were given: not dangerous, and not right either."""
    marked: set[str] = field(default_factory=set)
    """Addresses that show markup of the store, as the text it should be: where there is none, nothing is proved."""
    measured: dict[str, float] = field(default_factory=dict)

    def attempt(self, kind: str, words: str, *, is_in: bool) -> None:
        """Counts one attack, and tells of one that got through."""
        self.tried[kind] += 1
        if is_in:
            self.let_in.append(f"{kind}: {words}")
            self.say(f"LET IN: {kind}: {words}")

    def look(self, kind: str, where: str, alive: list[str]) -> None:
        """Counts one look at a page for markup that came to life."""
        self.tried[kind] += 1
        if alive:
            self.executed.append(f"{kind}: {where}: {', '.join(sorted(set(alive))[:5])}")
            self.say(f"EXECUTED: {self.executed[-1]}")
