"""Reports that take long, as they were last worked out: kept in the store, so that a page shows them at once with their age.

What is kept are sums and our own words: no id or name of anybody, so that nobody who is forgotten stays in them.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.ports import Transaction

_READ = "select made_at, took_micros, document from prepared where name = ?"
_KEEP = """
insert into prepared (name, made_at, took_micros, document) values (?, ?, ?, ?)
on conflict (name) do update set made_at = excluded.made_at, took_micros = excluded.took_micros, document = excluded.document
"""


class Prepared(Struct, frozen=True):
    """One report as it was."""

    made_at: datetime
    took: timedelta
    document: str


async def read_prepared(tx: Transaction, name: str) -> Prepared | None:
    """None: it was never worked out."""
    row = await tx.fetch_one(_READ, name)
    if row is None:
        return None
    return Prepared(from_micros(row["made_at"]), timedelta(microseconds=row["took_micros"]), row["document"])


async def keep_prepared(tx: Transaction, name: str, made: Prepared) -> None:
    await tx.execute(_KEEP, name, to_micros(made.made_at), made.took // timedelta(microseconds=1), made.document)
