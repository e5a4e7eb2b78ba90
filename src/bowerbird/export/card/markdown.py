"""The card as Markdown."""

from __future__ import annotations

import re

from bowerbird.export.card.blocks import Block, Bullets, Code, Listing, Paragraph, Picture, Sheet, cell_text, is_number

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def as_markdown(sheet: Sheet) -> str:
    """Readable as it is, and in any viewer; nothing in it that came from outside can be markup."""
    parts = [f"# {_plain(sheet.title)}", _plain(sheet.lead)]
    for section in sheet.sections:
        parts += [f"## {_plain(section.title)}", *(_block(block) for block in section.blocks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return _plain(text)
        case Bullets(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Code(text):
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
            return f"{fence}\n{text}\n{fence}"
        case Picture(file, shows):
            return f"![{_plain(shows)}](<{file}>)"
        case Listing():
            return _listing(block)


def _listing(table: Listing) -> str:
    marks = ["---:" if is_number(table.rows, number) else "---" for number in range(len(table.columns))]
    rows = [" | ".join(_plain(cell_text(cell)) for cell in row) for row in (table.columns, *table.rows)]
    rows.insert(1, " | ".join(marks))
    return "\n".join(f"| {row} |" for row in rows)


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
