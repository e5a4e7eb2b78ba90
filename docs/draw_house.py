"""Draws the house from its imports: `python docs/draw_house.py` writes docs/house.svg, and a test fails when it is behind.

Every box is a top-level part of the package, with its folders; rows may import only what stands below them. Lines show which
part imports which; what nearly everybody uses (ports, model, errors, clock, db, settings) has none, for there would be too many.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bowerbird"
PICTURE = ROOT / "docs" / "house.svg"

ROWS = (
    ("api",),
    ("cli",),
    ("evaluate",),
    ("web",),
    ("planning",),
    ("app",),
    ("studies", "steering"),
    ("starting",),
    ("vocabulary",),
    ("remote", "export"),
    ("reports",),
    ("event", "community"),
    ("crawl", "providers", "limits", "frontier", "store", "policies", "analysis", "modules", "transport", "simulated"),
    ("flows",),
    ("clock", "db", "settings"),
    ("ports",),
    ("model", "errors"),
)
"""From the top of the house to its ground; names on one row do not import each other."""
EVERYBODYS = frozenset({"clock", "db", "settings", "ports", "model", "errors"})

_WIDTH, _BOX, _GAP, _LINE = 1320, 122, 10, 15
_COLOURS = ("#b5482f", "#9a6a10", "#3f7d3b", "#1f6f8b", "#4b5fa8", "#8a4a8f", "#6b6b6b")


class Box(NamedTuple):
    name: str
    folders: tuple[str, ...]
    x: float
    y: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + _BOX / 2


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement, also inside others; to walk through their expressions too takes several times as long."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(tree, name, None)
        for node in inner if isinstance(inner, list) else ():
            yield node
            yield from statements(node)


def imported(source: str) -> Iterator[str]:
    """The parts that import statements name, also inside functions."""
    for node in statements(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("bowerbird."))


def files_of(part: str) -> list[Path]:
    return sorted((PACKAGE / part).rglob("*.py")) or [path for path in [PACKAGE / f"{part}.py"] if path.is_file()]


def uses(part: str) -> set[str]:
    found = {name for path in files_of(part) for name in imported(path.read_text(encoding="utf-8"))}
    return found - {part} - EVERYBODYS


def folders_of(part: str) -> tuple[str, ...]:
    inside = (path.parent.name for path in (PACKAGE / part).glob("*/__init__.py"))
    return tuple(sorted(inside))


def boxes() -> list[Box]:
    placed: list[Box] = []
    y = 16.0
    for row in ROWS:
        parts = [(name, folders_of(name)) for name in row if files_of(name)]
        height = 30 + _LINE * max((len(folders) for _, folders in parts), default=0)
        left = (_WIDTH - len(parts) * _BOX - (len(parts) - 1) * _GAP) / 2
        placed += [Box(name, folders, left + n * (_BOX + _GAP), y, height) for n, (name, folders) in enumerate(parts)]
        y += height + 34 if parts else 0
    return placed


def drawn() -> str:
    """The picture; the same for the same imports."""
    known = {box.name: box for box in boxes()}
    bottom = max(box.y + box.height for box in known.values()) + 16
    lines = [line for box in known.values() for line in _lines(box, known)]
    body = "\n".join([*lines, *(shape for box in known.values() for shape in _shapes(box))])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom:.0f}" font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _lines(box: Box, known: dict[str, Box]) -> Iterator[str]:
    level = next(number for number, row in enumerate(ROWS) if box.name in row)
    colour = _COLOURS[level % len(_COLOURS)]
    for name in sorted(uses(box.name) & known.keys()):
        other, start = known[name], box.y + box.height
        bend = (start + other.y) / 2
        yield (
            f'<path d="M{box.middle:.0f},{start:.0f} C{box.middle:.0f},{bend:.0f} {other.middle:.0f},{bend:.0f} '
            f'{other.middle:.0f},{other.y:.0f}" fill="none" stroke="{colour}" stroke-opacity="0.45" stroke-width="1.4"/>'
        )


def _shapes(box: Box) -> Iterator[str]:
    yield (
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{_BOX}" height="{box.height:.0f}" rx="6" fill="#f6f3ec" stroke="#8a8171"/>'
    )
    yield (
        f'<text x="{box.middle:.0f}" y="{box.y + 20:.0f}" text-anchor="middle" font-size="15" '
        f'font-weight="600">{escape(box.name)}</text>'
    )
    for number, folder in enumerate(box.folders, 1):
        yield (
            f'<text x="{box.middle:.0f}" y="{box.y + 22 + _LINE * number:.0f}" text-anchor="middle" font-size="11.5" '
            f'fill="#5d564a">{escape(folder)}/</text>'
        )


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)} is drawn\n")
