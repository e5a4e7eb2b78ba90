"""What a person may write for a target on a Mastodon server."""

from __future__ import annotations

import re

from bowerbird.errors import UserError
from bowerbird.model import Facet, Subject, tag_form
from bowerbird.providers.common.asking.targets import Spelling
from bowerbird.providers.mastodon.requests import SCOPES, TRENDING, scope_and_tags

_HANDLE = re.compile(r"@?([\w.-]*\w)(@[\w.-]+\.[\w-]+(?::\d+)?|@localhost(?::\d+)?)?", re.ASCII)
_KEY = re.compile(r"\d{1,20}|[0-9A-Za-z]{18}|[0-9A-HJKMNP-TV-Z]{26}", re.ASCII)
_PROFILE_URL = re.compile(r"https?://([^/\s]+)/(?:web/|deck/)?(?:@|users/)([\w.-]*\w)(@[\w.:-]+)?/?(?:[?#].*)?")
_POST_URL = re.compile(
    r"https?://[^/\s]+/(?:web/|deck/)?(?:@[^/\s]+|users/[^/\s]+/statuses|statuses|notice|notes)/([0-9A-Za-z]+)/?(?:[?#].*)?"
)
_CHOICES = {
    "public": (*SCOPES, *(f"{scope}:media" for scope in SCOPES)),
    "directory": SCOPES,
    "trends": TRENDING,
    "trending": ("all",),
}


def _user(written: str, facet: Facet) -> str | None:
    if _KEY.fullmatch(written):
        return written
    handle = _handle(written)
    if handle is not None and facet.name != "profile":
        raise UserError(
            f"{facet.name} asks by the server's own account id, not by {written!r}: write the id, "
            f"or seed the facet `profile` with {handle} and let an edge lead to `{facet.name}`"
        )
    return handle


def _handle(written: str) -> str | None:
    if address := _PROFILE_URL.fullmatch(written):
        # A server shows strangers under its own address, with their home behind the name.
        return f"@{address[2]}{address[3] or '@' + address[1]}"
    found = _HANDLE.fullmatch(written)
    return f"@{found[1]}{found[2] or ''}" if found else None


def _post(written: str) -> str | None:
    if _KEY.fullmatch(written):
        return written
    address = _POST_URL.fullmatch(written)
    return address[1] if address else None


def _word(written: str, facet: Facet) -> str | None:
    if facet.name in _CHOICES:
        return written if written in _CHOICES[facet.name] else None
    if facet.name == "link":
        return written if written.startswith(("https://", "http://")) else None
    if facet.name == "hashtag":
        return _hashtag(written)
    return written or None


def _hashtag(written: str) -> str | None:
    """One hashtag or several to hear any of, with `local:` or `remote:` before them where that is meant."""
    scope, words = scope_and_tags(written)
    tags = [tag_form(word.strip().removeprefix("#")) for word in words]
    if not all(tags) or any(re.search(r"[\s/?#:]", tag) for tag in tags):
        return None
    return (f"{scope}:" if scope != "all" else "") + ",".join(tags)


def _accepted(facet: Facet) -> str:
    match facet.subject:
        case Subject.USER if facet.name == "profile":
            return "an account id, a handle (alice, @alice, @alice@server.example) or a profile address (https://server.example/@alice)"
        case Subject.USER:
            return "the account's id on this server (digits)"
        case Subject.POST:
            return "a post id or the address of a post on this server (https://server.example/@alice/1234)"
    if facet.name in _CHOICES:
        return " or ".join(filter(None, (", ".join(_CHOICES[facet.name][:-1]), _CHOICES[facet.name][-1])))
    if facet.name == "link":
        return "the address of a page (https://…)"
    return "a hashtag without spaces, or several with commas between them" if facet.name == "hashtag" else "at least one word"


target = Spelling(_user, _post, _word, _accepted).target
