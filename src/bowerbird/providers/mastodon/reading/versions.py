"""The versions of an edited status, the first one included."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from bowerbird.model import Subject, Version
from bowerbird.providers.common.reading.items import UNREADABLE, Reader
from bowerbird.providers.common.reading.markup import text_and_links
from bowerbird.providers.common.reading.times import iso
from bowerbird.providers.mastodon.reading.gather import MastodonGathering


class _Edit(Struct):
    created_at: str
    content: str | None = None
    spoiler_text: str | None = None
    sensitive: bool | None = None


_edits = Reader(_Edit)


def versions_of(found: MastodonGathering, raws: Iterable[bytes]) -> tuple[Version, ...]:
    """One version for each time of writing."""
    versions: dict[object, Version] = {}
    for raw in raws:
        try:
            edit = _edits.read(raw)
            at = iso(edit.created_at)
            if at is None:
                raise ValueError("a version without a time")
        except UNREADABLE as error:
            found.harvest.quarantine(Subject.POST, raw, error)
            continue
        said = text_and_links(edit.content)
        versions[at] = Version(
            post=found.ask.targets[0],
            at=at,
            text=said.text,
            links=said.links,
            warning=edit.spoiler_text or None,
            is_sensitive=edit.sensitive,
        )
    return tuple(versions.values())
