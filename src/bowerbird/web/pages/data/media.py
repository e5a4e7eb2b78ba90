"""Pictures and films from our own folder: never from the network, and declared by us, not as a server called them."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from bowerbird.db.moment import one_moment
from bowerbird.reports.browsing.kept_files import kept_file
from bowerbird.reports.media_folders import media_folders_of
from bowerbird.vocabulary import vocabulary
from bowerbird.web.errors import NotFound
from bowerbird.web.security.guard import Endpoint
from bowerbird.web.site import Site

TYPES = {
    ".jpg": "image/jpeg", ".png": "image/png", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif",
    ".mp4": "video/mp4", ".webm": "video/webm", ".mp3": "audio/mpeg", ".ogg": "audio/ogg",
}  # fmt: skip
"""By the ending that we gave a file: what else a server sends is saved by whoever wants it, and never shown."""
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)
_OTHER = "application/octet-stream"
_POLICY = {"Content-Security-Policy": "default-src 'none'; img-src 'self'; media-src 'self'; sandbox"}
"""Whatever it really is, and however somebody came to open it by itself: it runs nothing, and is nobody's."""


def media_file(site: Site) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        async with one_moment(site.database) as still, still.reading() as tx:
            name, folders = await kept_file(still, str(request.path_params["id"])), await media_folders_of(tx, vocabulary())
        if name is None:
            raise NotFound("No file of this picture or film is kept, or its posts are gone.", code="unknown_post")
        for folder in sorted(folders):
            path = inside(Path(folder), name)
            if path is not None:
                return _answer(path)
        raise NotFound("The file is not in the folder that the crawl file names.", code="file_not_found")

    return endpoint


def _answer(path: Path) -> Response:
    kind = TYPES.get(path.suffix, _OTHER)
    manner = "attachment" if kind == _OTHER else "inline"
    name = path.name if _PLAIN.fullmatch(path.name) else "file"
    return FileResponse(path, media_type=kind, headers={**_POLICY, "Content-Disposition": f'{manner}; filename="{name}"'})


def inside(folder: Path, name: str) -> Path | None:
    """The file of this name below a folder; None where it leads elsewhere or is not there."""
    root = folder.resolve()
    path = (root / name).resolve()
    return path if path.is_relative_to(root) and path.is_file() else None
