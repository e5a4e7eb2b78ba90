"""The areas of the dashboard, as the navigation lists them."""

from __future__ import annotations

from msgspec import Struct


class Area(Struct, frozen=True):
    """One entry of the navigation."""

    name: str
    path: str
    key: str
    """Pressed after `g`, it leads there."""
    prefixes: tuple[str, ...] = ()
    """Other addresses that belong to it."""


AREAS = (
    Area("Overview", "/", "o"),
    Area("Crawl", "/crawls", "c"),
    Area("Workers", "/work", "w"),
    Area("Machine", "/machine", "m"),
    Area("Data", "/data", "d", ("/users", "/posts")),
    Area("Figures", "/figures", "f"),
    Area("Community", "/community", "u"),
    Area("Keywords", "/keywords", "k"),
    Area("Completeness", "/completeness", "l"),
    Area("Steering", "/steering", "s"),
)


def area_of(path: str) -> str:
    """The name of the area that an address belongs to."""
    for area in AREAS:
        roots = (area.path, *area.prefixes)
        if path == area.path or any(root != "/" and (path == root or path.startswith(root + "/")) for root in roots):
            return area.name
    return ""
