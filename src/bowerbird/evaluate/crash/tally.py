"""The figures of the crash evaluation."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field, structs

from bowerbird.evaluate.crash.inventory import Differences
from bowerbird.evaluate.crash.stores import Trace

_WRONG = ("lost", "doubled", "extra", "differing", "loose", "over_limit", "refused", "damaged", "unlogged", "failed", "wedged")


class Tally(Struct, kw_only=True):
    """What the rounds on one kind of database came to; the first eleven must stay 0."""

    lost: int = 0
    doubled: int = 0
    extra: int = 0
    """There without being in the uninterrupted run."""
    differing: int = 0
    """The same thing with another content."""
    loose: int = 0
    """Leases, calls and charges never ended, tasks given up, credentials refused."""
    over_limit: int = 0
    refused: int = 0
    damaged: int = 0
    """Kills after which the database was not sound."""
    unlogged: int = 0
    """Calls that the service served and our log does not know."""
    failed: int = 0
    """Crawl processes that ended by themselves, but not well."""
    wedged: int = 0
    """Crawls that never came to their end although nothing stood in their way any more."""
    faults: int = 0
    """Lines of a settle at which an exception was raised."""
    stops: int = 0
    """Workers that were stopped until others took them for dead, and killed after they had woken up."""
    kills: int = 0
    rounds: int = 0
    kills_at_start: int = 0
    """Before the process had written that it exists."""
    kills_in_flight: int = 0
    """With calls under way."""
    calls_in_flight: int = 0
    calls: int = 0
    lost_calls: int = 0
    items: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        return not any(getattr(self, name) for name in _WRONG)

    def killed(self, trace: Trace) -> None:
        self.kills += 1
        self.kills_at_start += not trace.has_enrolled
        self.kills_in_flight += trace.flying > 0
        self.calls_in_flight += trace.flying
        self.damaged += not trace.is_whole

    def differs(self, differences: Differences) -> None:
        for name in ("lost", "doubled", "extra", "differing", "loose"):
            setattr(self, name, getattr(self, name) + getattr(differences, name))
        self.examples |= differences.examples

    def judge(self, differences: Differences, audit: dict[str, Any]) -> None:
        """What the store of a finished crawl came to, and what its service saw."""
        self.differs(differences)
        self.over_limit += audit["over_limit"]
        self.refused += audit["refused"]

    def note(self, what: str, example: str) -> None:
        self.examples.setdefault(what, []).append(example)

    def add(self, other: Tally) -> None:
        for name in structs.asdict(other):
            if name != "examples":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        self.examples |= other.examples

    def figures(self) -> dict[str, Any]:
        values = {name: value for name, value in structs.asdict(self).items() if name != "examples" or value}
        return {"is_clean": self.is_clean, **values}
