"""How a crawl is run again: its file, and the options without which that would be another crawl, or be refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from bowerbird.model.command_lines import command_line
from bowerbird.ports import Transaction

UNKNOWN = "FILE"
_READ = "select settings from crawls where name = ?"


class Again(Struct, frozen=True, kw_only=True):
    """The words of a command line that go on with a crawl."""

    file: str = UNKNOWN
    name: str | None = None
    """Where the file alone would be another crawl."""
    seeds: tuple[str, ...] = ()
    """Where the file has none of its own."""
    skips_bad: bool = False
    vault: str | None = None
    keys: str = ""
    """The vault that was in force, told or not."""
    dollars: float | None = None
    """What the last run was given to spend; of use only to those who spend."""

    def line(self, *more: str) -> str:
        """The whole command, ready to be typed."""
        seeds = [word for seed in self.seeds for word in ("--seed", seed)]
        named = ["--as", self.name] if self.name else []
        skips = ["--skip-bad"] if self.skips_bad else []
        vault = ["--vault", self.vault] if self.vault else []
        return command_line("crawl", self.file, *named, *seeds, *skips, *vault, *more)

    def touched_since(self, when: datetime) -> Iterator[str]:
        """What was changed since then: the crawl file, or the vault."""
        for what, path in (("its file", Path(self.file)), ("the vault", Path(self.keys))):
            if path.is_file() and path.stat().st_mtime > when.timestamp():
                yield what

    def kept(self) -> dict[str, object]:
        """What the database remembers, true from any folder."""
        paths = {name: str(Path(path).absolute()) for name in ("file", "vault", "keys") if (path := getattr(self, name))}
        return {name: value for name, value in structs.asdict(self).items() if value} | paths


async def read_again(tx: Transaction, crawl: str) -> Again:
    """How a crawl was called last, as its store remembers."""
    row = await tx.fetch_one(_READ, crawl)
    told = msgspec.json.decode(row["settings"]) if row is not None and row["settings"] else {}
    try:
        return msgspec.convert(told.get("called") or {}, Again)
    except msgspec.ValidationError:
        return Again()


async def vaults_of(tx: Transaction) -> list[str]:
    """The vaults that crawls of a store were run with."""
    names = [row["name"] for row in await tx.fetch("select name from crawls")]
    return [vault for name in names if (vault := (await read_again(tx, name)).keys)]
