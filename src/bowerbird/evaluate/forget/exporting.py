"""Exports from before, which are gone through with what the store knows to be gone, and searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bowerbird.db.moment import one_moment
from bowerbird.db.tables import SCHEMA_VERSION
from bowerbird.evaluate.forget.searching import Secret, found_in
from bowerbird.export.cleaning.exports import Known, Wanted, find_exports
from bowerbird.export.jobs.manifest import Source
from bowerbird.export.jobs.request import Request, export
from bowerbird.export.needed import needed
from bowerbird.ports import Clock, Database
from bowerbird.store.forgetting.tombstones import read_tombstones

_FILES = ("posts.jsonl", "posts.csv", "posts.parquet", "users.csv", "follows.jsonl", "media.jsonl", "calls.csv")
"""What is exported, named by what it is."""


async def write_exports(database: Database, folder: Path, clock: Clock) -> None:
    async with one_moment(database) as moment:
        for name in _FILES:
            request = Request(what=name.partition(".")[0], out=str(folder / name))
            await export(moment, request, Source("evaluation", SCHEMA_VERSION), clock)


async def clean_exports(known: Database, folder: Path, clock: Clock) -> None:
    """As `bowerbird forget --apply-to` does."""
    gone = Known(await read_tombstones(known), known, "evaluation")
    for each in find_exports(str(folder)):
        each.check(gone)
        await each.apply(gone, Wanted(), clock, lambda file, rows: None)


def found_in_exports(folder: Path, secrets: Sequence[Secret]) -> set[Secret]:
    """Parquet is unpacked; the other files are searched as they are, manifests too."""
    found: set[Secret] = set()
    for path in sorted(folder.iterdir()):
        is_packed = path.suffix == ".parquet"
        content = needed("pyarrow.parquet", "Parquet").read_table(path).to_pylist() if is_packed else []
        found |= found_in("\n".join(map(str, content)).encode() if is_packed else path.read_bytes(), secrets)
    return found
