"""Where the pictures and films of a store are: the crawl files of its crawls say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bowerbird.app.media_folders import media_folders_of
from bowerbird.cli.which import Place
from bowerbird.errors import UserError
from bowerbird.modules.media.files import MediaFolder
from bowerbird.ports import Transaction

_KEPT = "select 1 as kept from media_files where path is not null limit 1"


async def media_remover(tx: Transaction, place: Place, named: Path | None) -> Callable[[str], object]:
    """Takes a file off the disk by its media id; raises `UserError` where there are files and nothing says where."""
    folders = [MediaFolder(str(named))] if named else [MediaFolder(each) for each in await media_folders_of(tx, place.file or "")]
    if not folders and await tx.fetch_one(_KEPT) is not None:
        raise UserError(
            "the store has pictures or films on disk, and no crawl file says where: name the folder with --media FOLDER"
        )

    def remove(media: str) -> None:
        for folder in folders:
            folder.remove(media)

    return remove


async def media_folders(tx: Transaction, place: Place, named: Path | None = None) -> list[str]:
    """The folders in which the media of a store are; raises `UserError` where there are files and nothing says where."""
    folders = [str(named)] if named else sorted(await media_folders_of(tx, place.file or ""))
    if not folders and await tx.fetch_one(_KEPT) is not None:
        raise UserError(
            "the store has pictures or films on disk, and no crawl file says where: name the folder with --media-from FOLDER"
        )
    return folders
