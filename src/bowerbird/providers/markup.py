"""HTML of posts and profiles as plain text, with its links; linear in time whatever is sent."""

from __future__ import annotations

import html
import re
from functools import lru_cache

_TAG = re.compile(r"(<[^<>]*>)")
_NAME = re.compile(r"</?\s*([a-zA-Z0-9]+)")
_ATTRIBUTE = re.compile(r"\b(href|class|rel)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_BLANKS = re.compile(r"\n{3,}")


def plain(markup: str | None) -> str:
    return text_and_links(markup)[0]


@lru_cache(maxsize=1024)
def source_of(markup: str | None) -> str | None:
    """The name of the software a post was written with, which comes as a link; a few names serve most posts."""
    return plain(markup) or None


def text_and_links(markup: str | None) -> tuple[str, tuple[str, ...]]:
    """The readable text, and the addresses of its links that are neither mentions nor hashtags."""
    if not markup:
        return "", ()
    if "<" not in markup:
        return html.unescape(markup).strip(), ()
    # Words and tags take turns: the odd pieces are the tags.
    pieces = _TAG.split(markup)
    tags = pieces[1::2]
    links = dict.fromkeys(address for tag in tags if tag[:3] in ("<a ", "<A ") and (address := _address(tag)))
    if "&" in markup:
        pieces[::2] = [html.unescape(words) for words in pieces[::2]]
    pieces[1::2] = [_break(tag[:16]) for tag in tags]
    return _BLANKS.sub("\n\n", "".join(pieces)).strip(), tuple(links)


@lru_cache(maxsize=1024)
def _break(tag: str) -> str:
    """What a tag, of which the beginning is enough, does to the lines."""
    name = _NAME.match(tag)
    if name is None:
        return ""
    match name[1].lower():
        case "br":
            return "\n"
        case "p" | "blockquote" | "pre" | "ul" | "ol" if tag.startswith("</"):
            return "\n\n"
        case "li" | "div" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if tag.startswith("</"):
            return "\n"
    return ""


def _address(tag: str) -> str | None:
    values = {name.lower(): html.unescape(double or single) for name, double, single in _ATTRIBUTE.findall(tag)}
    is_named = "mention" in values.get("class", "") or "tag" in values.get("rel", "").split()
    address = values.get("href", "")
    return address if address.startswith(("http://", "https://")) and not is_named else None
