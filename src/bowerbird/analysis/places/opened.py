"""The one resolver of a process: its index is opened once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from bowerbird.analysis.places.index.gazetteer import open_gazetteer
from bowerbird.analysis.places.resolver import Resolver


@cache
def resolver_in(folder: Path) -> Resolver:
    """The resolver over the index in a cache folder, which is built there first if it is missing."""
    return Resolver(open_gazetteer(folder))
