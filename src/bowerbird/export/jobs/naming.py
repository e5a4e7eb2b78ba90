"""What the files of an export are called."""

from __future__ import annotations

from pathlib import PurePosixPath

from msgspec import Struct

ENDINGS = {"jsonl": "jsonl", "csv": "csv", "ids": "txt", "xlsx": "xlsx", "parquet": "parquet"}


class Naming(Struct, frozen=True):
    """Either one file of a given name, and numbered ones where it does not hold everything, or numbered ones from the first."""

    stem: str
    ending: str
    has_parts: bool
    manifest: str

    def part(self, number: int) -> str:
        return f"{self.stem}-{number:04}{self.ending}" if self.has_parts or number > 1 else f"{self.stem}{self.ending}"


def of_file(name: str, *, has_parts: bool) -> Naming:
    path = PurePosixPath(name)
    return Naming(path.stem, path.suffix, has_parts, f"{name}.manifest.json")


def in_folder(what: str, format_: str) -> Naming:
    """Programs that read a folder of Parquet leave out what begins with a line below."""
    return Naming(what, f".{ENDINGS.get(format_, format_)}", True, f"_{what}.manifest.json")
