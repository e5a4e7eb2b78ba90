"""How a network is asked for keywords, which are terms in normal form: `#london2012`, `olympics`, `opening ceremony`, `@team`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from bowerbird.model.work.streams import Subscription


class KeywordStream(Struct, frozen=True, kw_only=True):
    """How keywords are heard on a network."""

    stream: Subscription
    hosts: dict[str, str] = {}
    """By the address that answers, the one that streams, where the network has two."""
    is_filtered: bool = False
    """The network itself sends what the keywords match; otherwise everything comes, and we choose."""
    volume: int | None = None
    """Posts a minute that it brings at most; None: as many as there are."""
    unheard: tuple[str, ...] = ()
    """Keywords that this stream cannot be asked for."""


class MethodOption(Struct, frozen=True, kw_only=True):
    """What may be written for an option of a method that adapts keywords: one of `words`, a number between two others, or,
    without either, true or false."""

    words: tuple[str, ...] = ()
    between: tuple[float, float] | None = None

    def problem(self, value: object) -> str:
        """What is wrong with a value, after the name of the option; empty: nothing."""
        if self.words:
            return "" if value in self.words else f"must be one of {', '.join(self.words)}, not {_written(value)}"
        if self.between is None:
            return "" if isinstance(value, bool) else f"must be true or false, not {_written(value)}"
        low, high = self.between
        if isinstance(value, (int, float)) and not isinstance(value, bool) and low < value < high:
            return ""
        return f"must be a number between {low:g} and {high:g}, not {_written(value)}"


def _written(value: object) -> str:
    """As a crawl file has it."""
    return str(value).lower() if isinstance(value, bool) else repr(value)


Methods = Mapping[str, Mapping[str, MethodOption]]
"""Methods that adapt keywords, by name, and the options of each."""
