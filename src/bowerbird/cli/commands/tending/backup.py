"""`bowerbird backup`: a consistent copy of a store, also while its crawl is running; with its media, if wanted."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bowerbird.cli.media_folders import media_folders
from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.copying import shown
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, opened_store
from bowerbird.clock import RealClock
from bowerbird.db.files.backup import back_up

if TYPE_CHECKING:
    from bowerbird.export.media_copies import MediaCopied

INCOMPLETE = 3
EndpointOption = Annotated[str | None, typer.Option("--endpoint", metavar="URL", help="Of an S3 store, if not Amazon's.")]


def command(
    place: StoreArgument = None,
    target: Annotated[
        Path | None, typer.Argument(metavar="[OUTFILE]", help="Where to; default: beside it, with the time in its name.")
    ] = None,
    media: Annotated[
        str | None, typer.Option("--media", metavar="WHERE", help="Also copy its media: to a folder, or to s3://BUCKET/FOLDER.")
    ] = None,
    media_from: Annotated[
        Path | None, typer.Option("--media-from", metavar="FOLDER", help="Where they are, if no crawl file says so.")
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Take media out of the copy that the store does not keep any more.")
    ] = False,
    endpoint: EndpointOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Copy a store into one SQLite file, as of one moment, while the crawl goes on.

    The copy is checked before it gets its name. It is a store like any other: `bowerbird status COPY` reads it. With --media,
    pictures and films are copied too, those that are not there yet, and every one of them is read again and checked by its hash.
    Exit code 3: some of them are missing or damaged where they should be.
    """
    found, clock, output = find_store(place), RealClock(), Output(as_json=as_json)
    target = target or backup_name(found.store, clock.now())
    copied = asyncio.run(back_up(found.store, target, clock, shown(output)))
    output.line(f"Copied {found.shown} to {target}: {copied.rows:,} rows, {copied.size / 1e6:,.1f} MB, checked.")
    files = asyncio.run(_media(found, target, media, media_from, endpoint, output, prunes=prune)) if media else None
    again = f" --media {media}" if media else ""
    output.line(f"Make a store of it with: bowerbird restore {target} NEW.db{again}")
    told = {"media": media_values(files)} if files is not None else {}
    output.result({"backup": target, "rows": copied.rows, "bytes": copied.size, **told})
    if files is not None and (files.missing or files.damaged):
        raise typer.Exit(INCOMPLETE)


async def _media(
    place: NamedStore, backup: Path, where: str, named: Path | None, endpoint: str | None, output: Output, *, prunes: bool
) -> MediaCopied:
    """Copies the media that the backup knows of: both are of one moment."""
    # Loaded when it is needed: an object store brings a lot along.
    from bowerbird.export.media_copies import copy_media, location_at, write_manifest

    clock, target = RealClock(), location_at(where, endpoint)
    async with opened_store(NamedStore(str(backup)), clock) as database:
        async with database.reading() as tx:
            folders = await media_folders(tx, place, named)
        done = await copy_media(database, [location_at(each) for each in folders], target, _told(output), prunes=prunes)
    await asyncio.to_thread(write_manifest, target, done)
    show_media(output, done, target.shown)
    return done


def _told(output: Output) -> Any:
    """Tells how far it is, every so many files."""

    def said(files: int, size: int) -> None:
        if files and files % 5_000 == 0:
            output.progress(f"{files:,} files, {numbers.size(size)}")

    return said


def show_media(output: Output, done: MediaCopied, where: str) -> None:
    removed = f", {done.removed:,} no longer kept were removed" if done.removed else ""
    output.line(
        f"Media in {where}: {numbers.many(done.files, 'file')}, {numbers.size(done.size)}, {done.copied:,} copied now, "
        f"each checked by its hash{removed}."
    )
    for words, paths in (("missing where they should be", done.missing), ("damaged where they are", done.damaged)):
        if paths:
            output.line(f"{numbers.many(len(paths), 'file')} {words}, for instance {paths[0]}", style="red")


def media_values(done: MediaCopied) -> dict[str, Any]:
    counts = {"files": done.files, "copied": done.copied, "bytes": done.size, "removed": done.removed}
    return {**counts, "missing": done.missing, "damaged": done.damaged}


def backup_name(store: str, now: datetime) -> Path:
    """A name beside the store, or in this folder for a database on a server."""
    path = Path("bowerbird.db") if "://" in store else Path(store)
    return path.with_name(f"{path.stem}-{now:%Y%m%d-%H%M%S}.backup.db")
