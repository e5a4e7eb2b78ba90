"""Where the pictures and films of a store are: the crawl files of its crawls say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bowerbird.cli.which import NamedStore
from bowerbird.errors import UserError
from bowerbird.modules.media.files import MediaFolder
from bowerbird.ports import Transaction
from bowerbird.reports.browsing.kept_files import has_files
from bowerbird.reports.media_folders import media_folders_of
from bowerbird.vocabulary import vocabulary


async def media_remover(tx: Transaction, place: NamedStore, named: Path | None) -> Callable[[str], object]:
    """Takes a file off the disk by its media id; raises `UserError` where there are files and nothing says where."""
    folders = (
        [MediaFolder(str(named))]
        if named
        else [MediaFolder(each) for each in await media_folders_of(tx, vocabulary(), place.file or "")]
    )
    if not folders and await has_files(tx):
        raise UserError(
            "the store has pictures or films on disk, and no crawl file says where",
            "name the folder with --media FOLDER",
            code="needs_option",
        )

    def remove(media: str) -> None:
        for folder in folders:
            folder.remove(media)

    return remove


async def media_folders(tx: Transaction, place: NamedStore, named: Path | None = None) -> list[str]:
    """The folders in which the media of a store are; raises `UserError` where there are files and nothing says where."""
    folders = [str(named)] if named else sorted(await media_folders_of(tx, vocabulary(), place.file or ""))
    if not folders and await has_files(tx):
        raise UserError(
            "the store has pictures or films on disk, and no crawl file says where",
            "name the folder with --media-from FOLDER",
            code="needs_option",
        )
    return folders
