"""Where the last whole row of a file ends."""

from __future__ import annotations

from typing import BinaryIO


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
