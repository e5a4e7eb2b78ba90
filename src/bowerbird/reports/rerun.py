"""The command line that a crawl was run with. Every start stores it; it continues the crawl."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from bowerbird.crawl.process.endings import NOTHING_LEFT
from bowerbird.errors import Failure
from bowerbird.model import CrawlState
from bowerbird.model.command_lines import command_line
from bowerbird.ports import Transaction
from bowerbird.reports.crawls import read_settings

UNKNOWN = "FILE"


class RerunCommand(Struct, frozen=True, kw_only=True):
    """`bowerbird crawl` with the file of a crawl and the options that decide which crawl that is.

    Limits of one run (`--calls`, `--for` …) and answers to one question (`--yes`, `--apply`) are
    not part of it.
    """

    file: str = UNKNOWN
    name: str | None = None
    """`--as`."""
    seeds: tuple[str, ...] = ()
    """`--seed`."""
    skips_bad: bool = False
    """`--skip-bad`."""
    vault: str | None = None
    """`--vault`."""
    keys: str = ""
    """The vault that was used, whether or not `--vault` named it."""

    def words(self, *more: str) -> list[str]:
        """The words after `bowerbird`."""
        named = ["--as", self.name] if self.name else []
        seeds = [word for seed in self.seeds for word in ("--seed", seed)]
        skips = ["--skip-bad"] if self.skips_bad else []
        vault = ["--vault", self.vault] if self.vault else []
        return ["crawl", self.file, *named, *seeds, *skips, *vault, *more]

    def line(self, *more: str) -> str:
        """The whole command, quoted for a shell."""
        return command_line(*self.words(*more))

    def stored(self) -> dict[str, object]:
        """What the database keeps; paths are absolute, so that they are right from any folder."""
        names = ("file", "vault", "keys")
        paths = {name: str(Path(path).absolute()) for name in names if (path := getattr(self, name))}
        return {name: value for name, value in structs.asdict(self).items() if value} | paths


async def read_rerun_commands(tx: Transaction) -> dict[str, RerunCommand]:
    """By crawl, the command line it was last run with; the file is `FILE` if it had none."""
    return {crawl: _stored_command(settings) for crawl, settings in (await read_settings(tx)).items()}


def _stored_command(settings: Mapping[str, Any]) -> RerunCommand:
    try:
        return msgspec.convert(settings.get("called") or {}, RerunCommand)
    except msgspec.ValidationError:
        return RerunCommand()


def is_complete(state: CrawlState, reason: Failure | None) -> bool:
    """Whether a crawl has requested everything, so that running it again would do nothing."""
    return state == CrawlState.FINISHED and reason is not None and reason.code == NOTHING_LEFT
