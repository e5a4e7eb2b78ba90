"""Reads pages as a browser would, without one: links to go on with, and markup that came to life."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import parse_qsl, unquote, urlsplit

from bowerbird.evaluate.web.marking import CALL, MARK

_LEADS = ("href", "src", "action", "data-plot", "data-graph", "data-map", "data-live", "hx-get", "data-src")
_URLS = ("href", "src", "action", "formaction", "xlink:href", "hx-get", "hx-post")


class Page(HTMLParser):
    """What is on a page: `alive` names markup that nobody escaped, or that no page of ours may have."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: set[str] = set()
        self.fields: set[str] = set()
        self.alive: list[str] = []
        self.shows_marks = MARK in text or CALL in text
        """Whether any of the markup is on it, as the text it should be."""
        self._is_in_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        is_ours = tag == "svg" and given.get("class") == "automaton"
        if tag == MARK or (tag in ("style", "base", "iframe", "object", "embed", "svg", "frame") and not is_ours):
            self.alive.append(f"<{tag}>")
        self.alive += [f"{name}=" for name in given if name.startswith("on") or name in ("style", "srcdoc")]
        self.alive += [f"{name}={given[name][:40]}" for name in _URLS if _is_script(given.get(name, ""))]
        self._is_in_script = tag == "script"
        self.links |= {given[name] for name in _LEADS if given.get(name, "").startswith("/")}
        if tag in ("input", "select", "textarea") and given.get("name"):
            self.fields.add(given["name"])

    def handle_endtag(self, tag: str) -> None:
        self._is_in_script = False

    def handle_data(self, data: str) -> None:
        if self._is_in_script and data.strip():
            self.alive.append(f"script: {data.strip()[:40]}")


def parameters(links: set[str]) -> set[str]:
    """The names of parameters that links carry."""
    return {name for link in links for name, _ in parse_qsl(urlsplit(link).query, keep_blank_values=True)}


def path_of(link: str) -> str:
    return unquote(urlsplit(link).path)


def _is_script(url: str) -> bool:
    bare = "".join(each for each in url if each > " ").lower()
    return bare.startswith(("javascript:", "vbscript:", "data:"))
