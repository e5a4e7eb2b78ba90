"""Where the pictures and films of a store are: the crawl files of its crawls say so."""

from __future__ import annotations

from pathlib import Path

import msgspec

from bowerbird.errors import BowerbirdError
from bowerbird.flows.files.crawl_file import read_crawl_file
from bowerbird.flows.flow import Vocabulary
from bowerbird.ports import Transaction


async def media_folders_of(tx: Transaction, words: Vocabulary, *files: str) -> set[str]:
    """The folders that the crawl files name from which the crawls of a store were begun, and those of other files.
    `words`: what crawl files may say."""
    settings = [msgspec.json.decode(row["settings"] or "{}") for row in await tx.fetch("select settings from crawls")]
    found = {str((each.get("called") or {}).get("file") or "") for each in settings} | set(files)
    return {folder for each in found if (folder := _folder(each, words))}


def _folder(file: str, words: Vocabulary) -> str:
    if not file or not Path(file).is_file():
        return ""
    try:
        plan = read_crawl_file(Path(file), words, (), None, may_lack_seeds=True)
    except BowerbirdError:
        return ""
    return plan.media.folder if plan.media else ""
