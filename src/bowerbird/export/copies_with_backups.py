"""Media copied with each scheduled backup."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.backup_plan import BackupPlan
from bowerbird.modules.media.copies import forget_copies, gone_from, note_kept
from bowerbird.ports import Clock, Database
from bowerbird.store.errors import record_error

if TYPE_CHECKING:
    from bowerbird.export.media_copies import MediaLocation


def copies_of(plan: CrawlPlan, database: Database, clock: Clock) -> Callable[[], Awaitable[None]] | None:
    """Copies the media with each backup, where the crawl file wishes it."""
    backup, media = plan.backup, plan.media
    if backup is None or not backup.media or media is None:
        return None
    return partial(copy_beside, database, clock, media.folder, backup)


async def copy_beside(database: Database, clock: Clock, folder: str, plan: BackupPlan) -> None:
    """Copies what the store keeps, takes out of the copy what it keeps no longer, and notes what was missing or damaged: the next
    copy tries again."""
    # Loaded when it is needed: an object store brings a lot along.
    from bowerbird.export.media_copies import copy_media, location_at, write_manifest

    target = location_at(plan.media, plan.endpoint or None)
    # Before: what is forgotten while it is being copied is known to be there.
    async with database.transaction() as tx:
        await note_kept(tx, target.shown)
    with clock.outside():
        done = await copy_media(database, [location_at(folder)], target)
        done.removed = await _prune(database, target)
        await asyncio.to_thread(write_manifest, target, done)
    if done.missing or done.damaged:
        words = f"{len(done.missing):,} files of media are missing, {len(done.damaged):,} are damaged; they are not in the copy"
        async with database.transaction() as tx:
            await record_error(tx, clock.now(), "backup", words)


async def _prune(database: Database, target: MediaLocation) -> int:
    """Takes out what this store put there once: what others put into the same folder is theirs."""
    async with database.reading() as tx:
        gone = await gone_from(tx, target.shown)
    await asyncio.to_thread(_remove, target, gone)
    async with database.transaction() as tx:
        await forget_copies(tx, target.shown, gone)
    return len(gone)


def _remove(target: MediaLocation, paths: Sequence[str]) -> None:
    for path in paths:
        target.remove(path)
