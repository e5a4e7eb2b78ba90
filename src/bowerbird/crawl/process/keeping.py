"""What a part of a process keeps its state with."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.crawl.process.tally import Tally
from bowerbird.ports import Claims, Clock, Database


class Keeping(Struct, frozen=True):
    """Where a part writes down what it does, under which claims, and whom it tells meanwhile."""

    database: Database
    clock: Clock
    claims: Claims
    tally: Tally
