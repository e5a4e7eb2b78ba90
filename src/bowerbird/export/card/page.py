"""The card as one HTML page: figures inside, no script, nothing from elsewhere; light and dark, and good to print."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape

from bowerbird.export.card.blocks import Block, Bullets, Code, Listing, Paragraph, Picture, Sheet, cell_text, is_number

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --quiet: #6b7280; --line: #e5e7eb; --paper: #ffffff; --soft: #f6f7f9;
  --accent: #2f5d8a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e5e7eb; --quiet: #9ca3af; --line: #2b3340; --paper: #12161c; --soft: #1a2029; --accent: #8ab4e0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 2.5rem 1.25rem 5rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.75rem 0 .75rem; padding-bottom: .35rem; border-bottom: 1px solid var(--line); }
p.lead { color: var(--quiet); margin: 0 0 1.5rem; }
nav { background: var(--soft); border-radius: .5rem; padding: .75rem 1rem; font-size: .92rem; }
nav a { color: var(--accent); text-decoration: none; margin-right: 1rem; white-space: nowrap; }
div.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .92rem; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { font-weight: 600; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1.5rem 0; }
figure img { width: 100%; height: auto; background: #ffffff; border: 1px solid var(--line); border-radius: .5rem;
  padding: .5rem; }
figcaption { color: var(--quiet); font-size: .88rem; }
pre { background: var(--soft); border-radius: .5rem; padding: .85rem 1rem; overflow-x: auto; font-size: .88rem;
  white-space: pre-wrap; }
li { margin: .25rem 0; }
@media print { nav { display: none; } body { max-width: none; } }
"""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def as_page(sheet: Sheet, pictures: Mapping[str, bytes]) -> str:
    """`pictures`: the SVG of each figure, by the name of its file."""
    links = "".join(f'<a href="#part{number}">{escape(each.title)}</a> ' for number, each in enumerate(sheet.sections))
    parts = [f"<h1>{escape(sheet.title)}</h1>", f'<p class="lead">{escape(sheet.lead)}</p>', f"<nav>{links}</nav>"]
    for number, section in enumerate(sheet.sections):
        parts.append(f'<h2 id="part{number}">{escape(section.title)}</h2>')
        parts += [_block(block, pictures) for block in section.blocks]
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(sheet.title)}</title>'
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>{head}\n<style>{_STYLE}</style></head>\n<body>\n'
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _block(block: Block, pictures: Mapping[str, bytes]) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
        case Code(text):
            return f"<pre>{escape(text)}</pre>"
        case Picture(file, shows):
            inside = base64.b64encode(pictures[file]).decode()
            image = f'<img src="data:image/svg+xml;base64,{inside}" alt="{escape(shows, quote=True)}">'
            return f"<figure>{image}<figcaption>{escape(shows)}</figcaption></figure>"
        case Listing():
            return _listing(block)


def _listing(table: Listing) -> str:
    kinds = [' class="number"' if is_number(table.rows, number) else "" for number in range(len(table.columns))]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.columns, strict=True))
    rows = [
        "<tr>" + "".join(f"<td{kind}>{escape(cell_text(cell))}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in table.rows
    ]
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
