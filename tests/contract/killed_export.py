"""An export in a process of its own that dies after some rows: `python killed_export.py STORE OUT ROWS SPLIT`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.moment import one_moment
from bowerbird.export.jobs.destinations import Folder
from bowerbird.export.jobs.job import Job, Manner, begun
from bowerbird.export.jobs.manifest import Manifest, ManifestFile, Run, Source
from bowerbird.export.jobs.naming import of_file
from bowerbird.export.jobs.sinks import ParquetSink, Sink, line_sink
from bowerbird.export.rows.shapes import POSTS
from bowerbird.reports.blocks.block import Key
from bowerbird.reports.blocks.reading import BlockReader
from bowerbird.reports.blocks.tables import TABLES


async def export_until(
    store: str, out: Path, deadly: int | None, split: int | None, heard: Callable[[int], None] = lambda rows: None
) -> Manifest:
    """With blocks of 7 rows, and notes after every 10; ends itself after so many rows."""

    def told(rows: int, _: Key) -> None:
        heard(rows)
        if deadly is not None and rows >= deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    database = await open_database(store, RealClock())
    async with one_moment(database) as moment:
        place, naming = Folder(out.parent), of_file(out.name, has_parts=split is not None)
        file = ManifestFile(place, naming.manifest)
        wanted = Manifest(what="posts", format=out.suffix, source=Source(store, 1), options={}, columns=list(POSTS.names))
        manifest = begun(file, wanted, Run(began_at=RealClock().now()), only_new=False)
        job = Job(place, manifest, file, naming)
        sink: Sink = (
            ParquetSink(place, job.next_name, POSTS)
            if out.suffix == ".parquet"
            else line_sink(place, job.next_name, POSTS, out.suffix[1:])
        )
        reader = BlockReader(moment, TABLES["posts"], rows=7)
        done = await job.run(reader, sink, Manner(split=split, noted=10, finished=20, told=told), RealClock().now)
    await database.close()
    return done


if __name__ == "__main__":
    asyncio.run(export_until(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) or None))
