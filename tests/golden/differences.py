"""How two sets of outputs differ, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

_MOST_LINES = 40
_LONGEST_LINE = 600

Files = Mapping[str, Sequence[str]]


def differences(old: Files, new: Files, names: tuple[str, str] = ("old", "new")) -> list[str]:
    """One text for each output that differs: the first lines of a unified diff without context."""
    found = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            found.append(f"{name}: only in {names[name in new]}")
        elif list(old[name]) != list(new[name]):
            lines = list(
                unified_diff(
                    old[name], new[name], *(f"{name} ({each})" for each in names), lineterm="", n=0
                )
            )
            shown = [line[:_LONGEST_LINE] for line in lines[:_MOST_LINES]]
            more = (
                [f"… and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
            )
            found.append("\n".join([*shown, *more]))
    return found


def read_folder(folder: Path) -> dict[str, list[str]]:
    """The outputs that are kept in a folder."""
    return {
        path.stem: path.read_text("utf-8").splitlines() for path in sorted(folder.glob("*.txt"))
    }


def write_folder(folder: Path, files: Files) -> None:
    """Replace the outputs that are kept in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.txt"):
        path.unlink()
    for name, lines in files.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
