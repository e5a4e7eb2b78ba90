"""How the loop of a crawl ends, and the words for it."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.model import CrawlState

STUCK = "then start again: what waits is asked then"
NOTHING_LEFT = "nothing is left to ask"
GIVEN_UP = "were given up, the next start tries them again"


class Ending(Struct, frozen=True):
    """Why a crawl's loop ended: `finished`, `stopped`, `paused` or `failed`, with words for the user."""

    state: CrawlState
    reason: str
