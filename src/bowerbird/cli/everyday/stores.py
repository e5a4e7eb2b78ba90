"""The small stores of commands: where each is, for how long it is kept, and when it goes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import msgspec

from bowerbird.cli.everyday.plans import Job
from bowerbird.cli.everyday.wishes import Wish
from bowerbird.errors import UserError
from bowerbird.settings import Settings

KEPT = timedelta(days=7)
"""An unfinished command can be gone on with for so long."""
_PARTS = ("", "-wal", "-shm", "-journal")


def folder_of(settings: Settings) -> Path:
    return settings.cache_folder / "commands"


def name_of(wish: Wish, job: Job) -> str:
    """The same for the same question, wherever its rows go."""
    services = [each.service.base for each in job.plan.services]
    asked = [wish.command, services, list(job.inputs.seeds.written), job.inputs.seeds.column, job.inputs.identity]
    narrowed = [
        wish.limit,
        wish.since,
        wish.until,
        list(wish.languages),
        wish.granularity if wish.command == "counts" else "",
        wish.raw,
        *([sorted(wish.override), str(wish.opt_out)] if wish.override or wish.opt_out else []),
    ]
    return f"{wish.command}-{sha256(msgspec.json.encode([asked, narrowed])).hexdigest()[:12]}"


def store_of(wish: Wish, name: str, settings: Settings) -> Path:
    if wish.store is None:
        return folder_of(settings) / f"{name}.db"
    if ":/" in str(wish.store):
        raise UserError("--store names a file", "crawl files take databases on servers as well", code="invalid_address")
    return wish.store.expanduser()


def remove(store: Path) -> None:
    """Removes a store with what belongs to it."""
    for part in _PARTS:
        store.with_name(store.name + part).unlink(missing_ok=True)


def sweep(folder: Path, now: datetime) -> None:
    """Removes what was left unfinished for too long."""
    for path in _old(folder, now):
        remove(path)


def _old(folder: Path, now: datetime) -> Iterator[Path]:
    for path in (*folder.glob("*.db"), *folder.glob("pipe*")):
        touched = [each.stat().st_mtime for part in _PARTS if (each := path.with_name(path.name + part)).exists()]
        if touched and datetime.fromtimestamp(max(touched), UTC) < now - KEPT:
            yield path
