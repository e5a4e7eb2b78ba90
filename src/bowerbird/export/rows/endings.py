"""What the ending of a file's name says, and where the last whole row of a file ends."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from bowerbird.errors import UserError
from bowerbird.export.needed import needed

WHOLE = {"parquet": ("pyarrow", "Parquet"), "xlsx": ("xlsxwriter", "XLSX")}


def whole_rows(file: BinaryIO, *, is_quoted: bool) -> tuple[int, bytes]:
    """Where the last whole row ends, and the first row; 0 and nothing where there is none.

    `is_quoted`: a line may end inside of quotes, and is not the end of a row there.
    """
    file.seek(0)
    end, place, is_inside, first = 0, 0, False, b""
    for line in file:
        is_inside ^= is_quoted and line.count(b'"') % 2 == 1
        place += len(line)
        if not end:
            first += line
        if line.endswith(b"\n") and not is_inside:
            end = place
    return end, first if end else b""


def whole_format(path: Path | None, told: str | None = None) -> str | None:
    """`parquet` or `xlsx`, which are written in one go, or None for formats that grow row by row; raises `UserError` where a
    package is missing."""
    format_ = told or ("" if path is None else path.suffix.lower().removeprefix("."))
    if format_ not in WHOLE:
        return None
    if path is None or str(path) == "-":
        raise UserError(f"{format_} cannot be written to standard output", "name a file with -o", code="file_unwritable")
    needed(*WHOLE[format_])
    return format_
