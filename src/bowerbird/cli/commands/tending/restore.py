"""`bowerbird restore`: a store made of a backup."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bowerbird.cli.commands.tending.backup import INCOMPLETE, EndpointOption, media_values, show_media
from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.copying import shown
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, find_store, opened_store
from bowerbird.clock import RealClock
from bowerbird.db.addresses import public
from bowerbird.db.files.backup import Said, restore
from bowerbird.store.absences.forgetting import Forgotten, forget_as_in
from bowerbird.store.forgetting.requests import Forgetter, Wish
from bowerbird.store.opening import open_store

if TYPE_CHECKING:
    from bowerbird.export.media_copies import MediaCopied


def command(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A file that `bowerbird backup` made.")],
    store: Annotated[str, typer.Argument(metavar="STORE", help="A new SQLite file, or postgresql://… of an empty database.")],
    like: Annotated[
        list[str] | None,
        typer.Option(
            "--like", metavar="STORE|LIST", help="Also delete here what this store, or a list of `forget --share`, knows of."
        ),
    ] = None,
    media: Annotated[
        str | None,
        typer.Option("--media", metavar="WHERE", help="Also bring its media back, from a folder or s3://BUCKET/FOLDER."),
    ] = None,
    media_to: Annotated[
        Path, typer.Option("--media-to", metavar="FOLDER", help="Where to; the `folder` under [media] of the crawl file.")
    ] = Path("media"),
    endpoint: EndpointOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a store of a backup: a new file, or an empty PostgreSQL database. Nothing is ever overwritten.

    A backup does not know what was deleted and forgotten after it was taken: name the store that does with --like. Media are
    brought back with --media, each checked by its hash, and only those that the restored store keeps. Exit code 3: some of them
    are missing or damaged in the copy.
    """
    output = Output(as_json=as_json)
    lists = [Path(each) for each in like or () if each.endswith(".txt")]
    stores = [find_store(each) for each in like or () if not each.endswith(".txt")]
    copied = asyncio.run(restore(backup, store, RealClock(), shown(output)))
    output.line(f"Restored {copied.rows:,} rows of {backup} into {public(store)}.")
    forgotten = asyncio.run(_forget(store, stores, lists, shown(output))) if like else Forgotten()
    if like:
        output.line(
            f"{numbers.many(forgotten.users, 'account')} and {numbers.many(forgotten.posts, 'post')} deleted since were emptied."
        )
    else:
        output.line("If the store is still there, say --like STORE: this backup does not know what was deleted since.")
    files = asyncio.run(_media(store, media, media_to, endpoint)) if media else None
    if files is not None:
        show_media(output, files, str(media_to))
    output.line("Go on with: bowerbird crawl FILE, where the file's `store` names it.")
    counts = {"users": forgotten.users, "posts": forgotten.posts}
    told = {"media": media_values(files)} if files is not None else {}
    output.result({"backup": backup, "store": public(store), "rows": copied.rows, **counts, **told})
    if files is not None and (files.missing or files.damaged):
        raise typer.Exit(INCOMPLETE)


async def _media(store: str, where: str, folder: Path, endpoint: str | None) -> MediaCopied:
    """Brings back what the restored store keeps: what was deleted since is not brought back."""
    # Loaded when it is needed: an object store brings a lot along.
    from bowerbird.export.media_copies import copy_media, location_at

    async with open_store(store, RealClock()) as database:
        return await copy_media(database, [location_at(where, endpoint)], location_at(str(folder)))


async def _forget(store: str, stores: Sequence[NamedStore], lists: Sequence[Path], said: Said) -> Forgotten:
    """Deletes what other stores and lists know to be deleted."""
    clock, forgotten = RealClock(), Forgotten()
    async with open_store(store, clock) as database:
        for place in stores:
            async with opened_store(place, clock) as known:
                forgotten.add(await forget_as_in(known, database, clock, said))
        for path in lists:
            wish = Wish(who=f"the list {path.name}", why="kept out by it", lines=tuple(path.read_text("utf-8").splitlines()))
            erased = await Forgetter(database, clock).forget(wish, said)
            forgotten.add(Forgotten(erased.users, erased.posts))
    return forgotten
