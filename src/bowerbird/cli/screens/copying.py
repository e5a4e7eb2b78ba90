"""The progress of a copy between databases, one line per table that takes long."""

from __future__ import annotations

from bowerbird.cli.screens.output import Output
from bowerbird.db.files.backup import Said

_NOTABLE = 100_000


def shown(output: Output) -> Said:
    """Says every hundred thousand rows how far a table is."""

    def said(table: str, rows: int) -> None:
        if rows and rows % _NOTABLE == 0:
            output.line(f"  {table}: {rows:,} rows")

    return said
