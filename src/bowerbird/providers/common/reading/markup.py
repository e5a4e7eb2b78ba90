"""HTML of posts and profiles as plain text, with its links; linear in time whatever is sent."""

from __future__ import annotations

import html
import re
from functools import lru_cache

from msgspec import Struct

_TAG = re.compile(r"(<[^<>]*>)")
_NAME = re.compile(r"</?\s*([a-zA-Z0-9]+)")
_ATTRIBUTE = re.compile(r"\b(href|class|rel)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_BLANKS = re.compile(r"\n{3,}")
_PLAIN = {"<p>": "", "</p>": "\n\n", "<br>": "\n", "<br/>": "\n", "<br />": "\n", "</a>": "", "<span>": "", "</span>": ""}
"""What the tags do to the lines that nearly all posts consist of; see `_break` for the others."""
_LONGEST_TAG = 200
_HASHTAG, _MENTION = ' class="mention hashtag"', ' class="u-url mention"'
"""How Mastodon itself writes what is no link of the author's; other software's ways are read attribute by attribute."""
_QUOTE = "quote-inline"
"""The class of what a server wrote itself, for software that shows no quotes: `RE:` and the address of the quoted post."""


def plain(markup: str | None) -> str:
    return text_and_links(markup).text


@lru_cache(maxsize=1024)
def source_of(markup: str | None) -> str | None:
    """The name of the software a post was written with, which comes as a link; a few names serve most posts."""
    return plain(markup) or None


class Read(Struct, frozen=True, gc=False):
    """A post's markup: the readable text, the addresses of its links that are neither mentions nor hashtags, and the hashtags
    that are marked as such, as they were written."""

    text: str
    links: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


_NOTHING = Read("")


def text_and_links(markup: str | None, *, has_quote: bool = False) -> Read:
    """What a post says. `has_quote`: the quoted post is known, so that its address among the words is none of them."""
    if not markup:
        return _NOTHING
    if "<" not in markup:
        return Read(_unescaped(markup).strip())
    if markup.startswith("<p>") and markup.endswith("</p>") and "<" not in (words := markup[3:-4]) and ">" not in words:
        # One paragraph, as most posts are.
        return Read(_lines(_unescaped(words)))
    # Words and tags take turns: the odd pieces are the tags.
    pieces = _TAG.split(markup)
    own = _without_quote(pieces) if _QUOTE in markup else pieces
    links, tags = _anchors(own if has_quote else pieces) if "<a " in markup or "<A " in markup else ((), ())
    if "&" in markup:
        own[::2] = [html.unescape(words) for words in own[::2]]
    own[1::2] = [_PLAIN[tag] if tag in _PLAIN else _break(tag[:16]) for tag in own[1::2]]
    return Read(_lines("".join(own)), links, tags)


def _unescaped(words: str) -> str:
    return html.unescape(words) if "&" in words else words


def _lines(text: str) -> str:
    """The text with one empty line at most between two others, and none around them."""
    return (_BLANKS.sub("\n\n", text) if "\n\n\n" in text else text).strip()


def _anchors(pieces: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Links and hashtags, each once and in the order of the text."""
    links: dict[str, None] = {}
    tags: list[str] = []
    for place in range(1, len(pieces), 2):
        tag = pieces[place]
        if not tag.startswith(("<a ", "<A ")) or _MENTION in tag:
            continue
        if _HASHTAG in tag:
            tags += _hashtag(pieces, place)
            continue
        values = _attributes(tag)
        classes, address = values.get("class", ""), values.get("href", "")
        if "hashtag" in classes.split():
            tags += _hashtag(pieces, place)
        elif address.startswith(("http://", "https://")) and not _is_named(classes, values.get("rel", "")):
            links[address] = None
    return tuple(links), tuple(tags)


def _hashtag(pieces: list[str], place: int) -> list[str]:
    """The word of an anchor; some write the sign before it, and the word itself into an element of its own."""
    word = pieces[place + 1]
    if pieces[place + 2 : place + 3] == ["<span>"]:
        word += pieces[place + 3]
    word = html.unescape(word).strip("# \n")
    return [word] if word and len(word) <= _LONGEST_TAG else []


def _is_named(classes: str, rel: str) -> bool:
    """Whether a link leads to somebody or something that the post names."""
    return "mention" in classes or "tag" in rel.split()


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
    return {name.lower(): _unescaped(double or single) for name, double, single in _ATTRIBUTE.findall(tag)}
