"""Items that could not be mapped or stored: kept alone, with the reason, so that their page can go on."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import Broken
from bowerbird.store.clean import clean_text
from bowerbird.store.sighting import Sighting

_LONGEST_RAW = 1024 * 1024
_LONGEST_WHY = 500
_SET_ASIDE = "insert into quarantine (call, facet, subject, why, at, raw) values (?, ?, ?, ?, ?, ?)"


async def set_aside(s: Sighting, facet: str, broken: Sequence[Broken]) -> None:
    rows = [
        (s.call, facet, item.subject.value, clean_text(item.why, _LONGEST_WHY), s.at, item.raw[:_LONGEST_RAW]) for item in broken
    ]
    await s.execute_many(_SET_ASIDE, rows)
