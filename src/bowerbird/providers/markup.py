"""HTML of posts and profiles as plain text, with its links; linear in time whatever is sent."""

from __future__ import annotations

import html
import re
from functools import lru_cache

_TAG = re.compile(r"(<[^<>]*>)")
_NAME = re.compile(r"</?\s*([a-zA-Z0-9]+)")
_ATTRIBUTE = re.compile(r"\b(href|class|rel)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_BLANKS = re.compile(r"\n{3,}")
_HASHTAG = re.compile(
    r"<a\s[^<>]*\bclass\s*=\s*[\"'][^\"'<>]*\bhashtag\b[^<>]*>(#[^<>]{0,200})(?:<span>([^<>]{1,200}))?", re.IGNORECASE
)
_QUOTE = "quote-inline"
"""The class of what a server wrote itself, for software that shows no quotes: `RE:` and the address of the quoted post."""


def plain(markup: str | None) -> str:
    return text_and_links(markup)[0]


@lru_cache(maxsize=1024)
def source_of(markup: str | None) -> str | None:
    """The name of the software a post was written with, which comes as a link; a few names serve most posts."""
    return plain(markup) or None


def hashtags_in(markup: str | None) -> list[str]:
    """The hashtags that are marked as such, as they were written."""
    if not markup or "hashtag" not in markup:
        return []
    found = (html.unescape(f"{sign}{word}") for sign, word in _HASHTAG.findall(markup))
    return [tag.strip("# \n") for tag in found if tag.strip("# \n")]


def text_and_links(markup: str | None, *, has_quote: bool = False) -> tuple[str, tuple[str, ...]]:
    """The readable text, and the addresses of its links that are neither mentions nor hashtags. `has_quote`: the quoted post is
    known, so that its address among the words is none of them."""
    if not markup:
        return "", ()
    if "<" not in markup:
        return html.unescape(markup).strip(), ()
    # Words and tags take turns: the odd pieces are the tags.
    pieces = _TAG.split(markup)
    own = _without_quote(pieces) if _QUOTE in markup else pieces
    linking = own[1::2] if has_quote else pieces[1::2]
    links = dict.fromkeys(address for tag in linking if tag[:3] in ("<a ", "<A ") and (address := _address(tag)))
    pieces = own
    tags = pieces[1::2]
    if "&" in markup:
        pieces[::2] = [html.unescape(words) for words in pieces[::2]]
    pieces[1::2] = [_break(tag[:16]) for tag in tags]
    return _BLANKS.sub("\n\n", "".join(pieces)).strip(), tuple(links)


def _without_quote(pieces: list[str]) -> list[str]:
    """The same pieces with nothing in place of the first quotation that the server wrote; all of them if it never ends."""
    begun, element, depth = 0, "", 0
    for place in range(1, len(pieces), 2):
        tag, name = pieces[place], _NAME.match(pieces[place])
        if not depth and not (name and not tag.startswith("</") and _QUOTE in _attributes(tag).get("class", "").split()):
            continue
        if not depth and name:
            begun, element = place, name[1].lower()
        if name and name[1].lower() == element and not tag.endswith("/>"):
            depth += -1 if tag.startswith("</") else 1
        if not depth:
            return [*pieces[:begun], *[""] * (place - begun + 1), *pieces[place + 1 :]]
    return pieces


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


def _attributes(tag: str) -> dict[str, str]:
    return {name.lower(): html.unescape(double or single) for name, double, single in _ATTRIBUTE.findall(tag)}


def _address(tag: str) -> str | None:
    values = _attributes(tag)
    classes = values.get("class", "")
    is_named = "mention" in classes or "hashtag" in classes.split() or "tag" in values.get("rel", "").split()
    address = values.get("href", "")
    return address if address.startswith(("http://", "https://")) and not is_named else None
