"""What a card is made of, before it is Markdown or a page."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

Cell = str | int | None


class Paragraph(Struct, frozen=True):
    text: str


class Bullets(Struct, frozen=True):
    items: tuple[str, ...]


class Listing(Struct, frozen=True):
    """A table; numbers stand to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Code(Struct, frozen=True):
    """Text as it is, such as a citation."""

    text: str


class Picture(Struct, frozen=True):
    """A figure: the name of its file beside the card, and what it shows."""

    file: str
    shows: str


Block = Paragraph | Bullets | Listing | Code | Picture


class Section(Struct, frozen=True):
    """One heading of the card with what stands below it."""

    title: str
    blocks: tuple[Block, ...]


class Sheet(Struct, frozen=True):
    """The whole card."""

    title: str
    lead: str
    sections: tuple[Section, ...]


def cell_text(cell: Cell) -> str:
    return "" if cell is None else f"{cell:,}" if isinstance(cell, int) else cell


def is_number(rows: Sequence[Sequence[Cell]], column: int) -> bool:
    """Whether a column holds nothing but numbers."""
    return bool(rows) and all(isinstance(row[column], int) for row in rows)
