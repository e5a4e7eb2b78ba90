"""`[media]` of a crawl file: where pictures go, and which."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from bowerbird.flows.language.tables import Table

MEDIA_KEYS = ("folder", "kinds", "max_bytes", "private_addresses")
KINDS = ("photo", "image")
MOST_BYTES = 20 * 1024 * 1024


class MediaPlan(Struct, frozen=True, kw_only=True):
    """What a crawl fetches of the media its posts show."""

    folder: str
    kinds: tuple[str, ...] = KINDS
    """As the networks call them."""
    max_bytes: int = MOST_BYTES
    """Larger ones are not kept."""
    allows_private: bool = False
    """Addresses of this machine and its network may be asked: for tests against a server there, and for nothing else."""


def media_plan(table: Table, folder: Path) -> MediaPlan | None:
    """The `[media]` of a crawl file, if it has one; relative paths start from the folder given."""
    if "media" not in table.values:
        return None
    inner = table.table("media")
    inner.only(MEDIA_KEYS, "[media]")
    return MediaPlan(
        folder=str(folder / Path(inner.text("folder", "media")).expanduser()),
        kinds=inner.texts("kinds") or KINDS,
        max_bytes=inner.count("max_bytes", MOST_BYTES) or MOST_BYTES,
        allows_private=inner.truth("private_addresses", False),
    )
