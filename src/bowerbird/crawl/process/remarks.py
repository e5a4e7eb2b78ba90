"""What a process notices about its own machine: a clock that is wrong or was set, a database that did not answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from bowerbird.crawl.life.life import Remark
from bowerbird.db.shared_time import set_clock
from bowerbird.model.times import span
from bowerbird.ports import Clock, Database

_NOTABLE_DRIFT = timedelta(seconds=5)
_CLOCK_SET_EVERY = timedelta(seconds=30)
_NOTABLE_OUTAGE = timedelta(seconds=5)
_CORRECTED, _SET = "corrected", "set"


class Remarks:
    """Collects what is to be written down with the next look; each thing is said once."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._set_clock_at = clock.now()
        self._told: frozenset[str] = frozenset()
        """What was said of the clock."""
        self._refused: tuple[datetime, str] | None = None
        """Since when our own database refuses, and what it said first."""

    def refused(self, words: str) -> None:
        """Our own database did not take something."""
        self._refused = self._refused or (self._clock.now(), words)

    async def ask_the_time(self) -> None:
        """Goes by the time of the database, which machines share, every now and then."""
        # A machine that just woke up looks as if its clock was set, until it has asked.
        if self._clock.now() >= self._set_clock_at or self._has_drifted():
            await set_clock(self._database, self._clock)
            self._set_clock_at = self._clock.now() + _CLOCK_SET_EVERY

    def made(self) -> list[Remark]:
        """What there is to say now."""
        return [*self._about_clock(), *self._about_database()]

    def written(self, remarks: Sequence[Remark]) -> list[str]:
        """They are in the database, and need not be said again; answers those that are to be shown too."""
        self._refused = None
        self._told |= {each.about for each in remarks}
        return [each.words for each in remarks if each.part == "clock"]

    def _about_clock(self) -> Iterator[Remark]:
        corrected, drift = self._clock.correction(), self._clock.drift()
        if abs(corrected) >= _NOTABLE_DRIFT and _CORRECTED not in self._told:
            words = (
                f"the clock of this machine is {_ahead(-corrected)} the database's; the crawl goes by the latter, one is wrong"
            )
            yield Remark("clock", words, _CORRECTED)
        if self._has_drifted():
            words = f"the system clock was set by {drift}; limits are kept by the steady clock until this process ends"
            yield Remark("clock", words, _SET)

    def _has_drifted(self) -> bool:
        """Whether the system's clock has parted from ours, and nobody was told so yet."""
        return abs(self._clock.drift()) >= _NOTABLE_DRIFT and _SET not in self._told

    def _about_database(self) -> Iterator[Remark]:
        """For how long our own database did not answer, now that it does again."""
        if self._refused is None:
            return
        since, words = self._refused
        lasted = self._clock.now() - since
        if lasted >= _NOTABLE_OUTAGE:
            yield Remark("database", f"refused for {lasted.total_seconds():.0f} s, which the crawl waited: {words}")


def _ahead(by: timedelta) -> str:
    return f"{span(abs(by))} {'ahead of' if by > timedelta(0) else 'behind'}"
