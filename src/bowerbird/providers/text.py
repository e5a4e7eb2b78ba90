"""Convert what the networks send as text: HTML to plain text with links and hashtags, and times."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from msgspec import Struct

# Times

_MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"\d{1,12}", re.ASCII)
_CLASSIC = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d\d?) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d) (\d{4})",
    re.ASCII,
)


def iso(text: str | None) -> datetime | None:
    """Parse an ISO 8601 time or date as UTC; a time without a zone is UTC."""
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
        if when.tzinfo is UTC:
            return when
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


@lru_cache(1 << 15)
def classic(text: str | None) -> datetime | None:
    """Parse a time such as `Thu Nov 08 02:31:41 +0000 2012`, independently of the locale. Cached
    because every post repeats when its author joined."""
    match = _CLASSIC.fullmatch(text or "")
    if match is None:
        return None
    month, day, hour, minute, second, sign, zone_hours, zone_minutes, year = match.groups()
    zone = timedelta(hours=int(zone_hours), minutes=int(zone_minutes))
    try:
        local = datetime(
            int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second), tzinfo=UTC
        )
        return local - zone if sign == "+" else local + zone
    except (KeyError, ValueError, OverflowError):
        return None


def epoch(text: str | None) -> datetime | None:
    """Parse whole seconds since 1970."""
    if not text or not _SECONDS.fullmatch(text):
        return None
    try:
        return _EPOCH + timedelta(seconds=int(text))
    except OverflowError:
        return None


def moment(text: str | None) -> datetime | None:
    """Parse seconds or ISO 8601: servers disagree about the form of a reset time."""
    return epoch(text) or iso(text)


# HTML. Every step is linear in time, whatever is sent.

_TAG = re.compile(r"(<[^<>]*>)")
_NAME = re.compile(r"</?\s*([a-zA-Z0-9]+)")
_ATTRIBUTE = re.compile(r"\b(href|class|rel)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_BLANKS = re.compile(r"\n{3,}")
_BREAKS = {
    "<p>": "",
    "</p>": "\n\n",
    "<br>": "\n",
    "<br/>": "\n",
    "<br />": "\n",
    "</a>": "",
    "<span>": "",
    "</span>": "",
}
"""The line breaks of the most frequent tags; `_line_break` knows the others."""
_MAX_HASHTAG = 200
_QUOTE_CLASS = "quote-inline"
"""Servers wrap `RE: <url>` in this class for software that does not show quotes."""


class Markup(Struct, frozen=True, gc=False):
    """A post's text, its links other than mentions and hashtags, and its hashtags as written."""

    text: str
    links: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def plain(markup: str | None) -> str:
    return text_and_links(markup).text


@lru_cache(maxsize=1024)
def source_of(markup: str | None) -> str | None:
    """Return the name of the software a post was written with, which is sent as a link."""
    return plain(markup) or None


def text_and_links(markup: str | None, *, has_quote: bool = False) -> Markup:
    """Convert a post. `has_quote`: the quoted post is known, so its URL in the text is not a link
    of the author."""
    if not markup:
        return Markup("")
    if "<" not in markup:
        return Markup(html.unescape(markup).strip())
    if (
        markup.count("<") == 2
        and markup.startswith("<p>")
        and markup.endswith("</p>")
        and markup.count(">") == 2
    ):
        # One paragraph, as most posts are.
        return Markup(_BLANKS.sub("\n\n", html.unescape(markup[3:-4])).strip())
    # Text and tags alternate: the odd pieces are tags.
    pieces = _TAG.split(markup)
    own = _without_quote(pieces) if _QUOTE_CLASS in markup else list(pieces)
    links, tags = (
        _anchors(own if has_quote else pieces) if "<a " in markup or "<A " in markup else ((), ())
    )
    if "&" in markup:
        own[::2] = map(html.unescape, own[::2])
    own[1::2] = [_BREAKS[tag] if tag in _BREAKS else _line_break(tag[:16]) for tag in own[1::2]]
    return Markup(_BLANKS.sub("\n\n", "".join(own)).strip(), links, tags)


def _anchors(pieces: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return links and hashtags, in the order of the text. The literal classes are Mastodon's own,
    checked first for speed."""
    links: dict[str, None] = {}
    tags: list[str] = []
    for place in range(1, len(pieces), 2):
        tag = pieces[place]
        if not tag.startswith(("<a ", "<A ")) or ' class="u-url mention"' in tag:
            continue
        is_hashtag = ' class="mention hashtag"' in tag
        values = {} if is_hashtag else _attributes(tag)
        classes, url = values.get("class", ""), values.get("href", "")
        if is_hashtag or "hashtag" in classes.split():
            word = pieces[place + 1]
            if pieces[place + 2 : place + 3] == ["<span>"]:
                word += pieces[place + 3]
            word = html.unescape(word).strip("# \n")
            if word and len(word) <= _MAX_HASHTAG:
                tags.append(word)
        elif (
            url.startswith(("http://", "https://"))
            and "mention" not in classes
            and "tag" not in values.get("rel", "").split()
        ):
            links[url] = None
    return tuple(links), tuple(tags)


def _without_quote(pieces: list[str]) -> list[str]:
    """Return the pieces without the first quotation that the server inserted; all pieces if it has
    no end."""
    start, element, depth = 0, "", 0
    for place in range(1, len(pieces), 2):
        tag, name = pieces[place], _NAME.match(pieces[place])
        if not depth and not (
            name
            and not tag.startswith("</")
            and _QUOTE_CLASS in _attributes(tag).get("class", "").split()
        ):
            continue
        if not depth and name:
            start, element = place, name[1].lower()
        if name and name[1].lower() == element and not tag.endswith("/>"):
            depth += -1 if tag.startswith("</") else 1
        if not depth:
            return [*pieces[:start], *[""] * (place - start + 1), *pieces[place + 1 :]]
    return list(pieces)


@lru_cache(maxsize=1024)
def _line_break(tag: str) -> str:
    """Return the line breaks that a tag, given by its first characters, stands for."""
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
    return {
        name.lower(): html.unescape(double or single)
        for name, double, single in _ATTRIBUTE.findall(tag)
    }
