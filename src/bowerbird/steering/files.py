"""The crawl files that were made in a browser: in one folder beside the store, under names that were checked.

Nothing here takes a path from outside: who asks names a crawl, and a name holds no `/` and no `..`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bowerbird.db.addresses import is_postgres, public
from bowerbird.db.files.private import locked, write_private
from bowerbird.errors import UserError

NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?")
LARGEST = 1024 * 1024
"""Bytes of a crawl file or a list of seeds that come from a browser."""
_TAIL = 32 * 1024


def folder_for(store: str, data_folder: Path) -> Path:
    """Where the files of a store's crawls are: beside a SQLite file, or among our data for a database on a server."""
    if is_postgres(store):
        name = re.sub(r"[^a-z0-9]+", "-", public(store).partition("://")[2].lower()).strip("-")
        return data_folder / "crawls" / (name or "database")
    path = Path(store).absolute()
    return path.with_name(f"{path.stem}-crawls")


class Draft(Struct, frozen=True, kw_only=True):
    """A crawl file with what lies beside it."""

    name: str
    text: str
    seeds: tuple[str, ...] = ()
    community: str = ""
    """A description of people, where the crawl is about some."""

    @property
    def side_files(self) -> Mapping[str, str]:
        """By the end of their names, the files that lie beside it."""
        found = {".seeds.txt": as_lines(self.seeds)} if self.seeds else {}
        return found | ({".community.toml": self.community} if self.community else {})


class CrawlFiles:
    """The crawl files of one store that were made in a browser, with their seeds and logs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.toml") if NAME.fullmatch(path.stem))

    def path(self, name: str, ending: str = ".toml") -> Path:
        """Where a file of a crawl is; raises `UserError` for what is no name."""
        if not NAME.fullmatch(name):
            raise UserError(
                f"{name!r:.60} cannot name a crawl",
                "use up to 40 small letters, digits, - and _, with a letter or digit first and last",
            )
        return self.folder / f"{name}{ending}"

    def check_free(self, name: str) -> None:
        if self.path(name).exists():
            raise UserError(f"there is a crawl file {name} already", "choose another name", code="already_exists")

    def make(self, draft: Draft) -> Path:
        """Writes a new crawl file with what lies beside it, and never over another."""
        with locked(self.path(draft.name)):
            self.check_free(draft.name)
            return self._write(draft)

    def plan_of(self, draft: Draft) -> Path:
        """Writes down what is not agreed to yet, to be planned; it is no crawl of the folder."""
        return CrawlFiles(self.folder / "drafts")._write(draft)

    def _write(self, draft: Draft) -> Path:
        for ending, content in draft.side_files.items():
            write_private(self.path(draft.name, ending), _bounded(content))
        write_private(self.path(draft.name), _bounded(draft.text))
        return self.path(draft.name)

    def text(self, name: str) -> str | None:
        path = self.path(name)
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def seeds(self, name: str) -> list[str]:
        path = self.path(name, ".seeds.txt")
        return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []

    def change_seeds(self, name: str, more: Sequence[str], fewer: Sequence[str]) -> bool:
        """Adds and takes out seeds; False where the crawl's file was not made here, and is left as it is."""
        if not self.path(name).is_file() or not self.path(name, ".seeds.txt").is_file():
            return False
        with locked(self.path(name)):
            kept = [seed for seed in self.seeds(name) if seed not in set(fewer)]
            seeds = [*kept, *(seed for seed in more if seed not in kept)]
            write_private(self.path(name, ".seeds.txt"), _bounded(as_lines(seeds)))
        return True

    def log(self, name: str) -> str:
        """The end of what the last process of a crawl said."""
        path = self.path(name, ".log")
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            return file.read(_TAIL).decode("utf-8", "replace")


def seeds_in(text: str) -> list[str]:
    """What was typed or pasted, one seed in a line, each once; what follows a `#` with a space is a remark."""
    lines = (line.strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line and not line.startswith("# ")))


def as_lines(seeds: Iterable[str]) -> str:
    return "".join(f"{seed}\n" for seed in seeds)


def _bounded(text: str) -> bytes:
    content = text.encode()
    if len(content) > LARGEST:
        raise UserError(
            f"that is more than {LARGEST // 1024:,} KB",
            "put it into a file and start the crawl from a command line",
            code="too_large",
        )
    return content
