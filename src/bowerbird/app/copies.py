"""Media copied with each scheduled backup."""

from __future__ import annotations

import asyncio

from bowerbird.flows.files.backup_plan import BackupPlan
from bowerbird.ports import Clock, Database
from bowerbird.store.errors import record_error


async def copy_beside(database: Database, clock: Clock, folder: str, plan: BackupPlan) -> None:
    """Copies what the store keeps, and notes what was missing or damaged: the next copy tries again."""
    # Loaded when it is needed: an object store brings a lot along.
    from bowerbird.export.media_copies import copy_media, place_at, write_manifest

    target = place_at(plan.media, plan.endpoint or None)
    with clock.outside():
        done = await copy_media(database, [place_at(folder)], target)
        await asyncio.to_thread(write_manifest, target, done)
    if done.missing or done.damaged:
        words = f"{len(done.missing):,} files of media are missing, {len(done.damaged):,} are damaged; they are not in the copy"
        async with database.transaction() as tx:
            await record_error(tx, clock.now(), "backup", words)
