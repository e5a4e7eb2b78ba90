"""What a person may write for a target on the X API."""

from __future__ import annotations

import re
from functools import partial

from bowerbird.model import Facet, Subject
from bowerbird.providers.base import hashtag, needs_id, parse_target
from bowerbird.providers.x_shared import Names

_names = Names(digits=19, letters=15)
_NAME = re.compile(r"[A-Za-z0-9_' ]{1,50}")
_LONGEST_QUERY = {"search": 512, "search_all": 1024}
_BY_ID = "the account's id (digits, or x:123)"


def _user(written: str, facet: Facet) -> str | None:
    key = _names.key(written)
    if key and facet.name != "handles":
        return key
    handle = _names.handle(written)
    if handle and facet.name not in ("profile", "handles"):
        raise needs_id(facet, written, handle)
    return f"@{handle}" if handle else None


def _word(written: str, facet: Facet) -> str | None:
    match facet.name:
        case "hashtag":
            return hashtag(written)
        case "members" | "list_timeline":
            return _names.list(written)
        case "trends":
            return written if re.fullmatch(r"\d{1,10}", written, re.ASCII) else None
        case "people":
            return written if _NAME.fullmatch(written) else None
        case "usage":
            return "all" if written in ("", "all") else None
    return written if 0 < len(written) <= _LONGEST_QUERY.get(facet.name, 512) else None


_ACCEPTED_WORDS = {
    "hashtag": "a hashtag without spaces",
    "members": "a list id or the address of a list (https://x.com/i/lists/123)",
    "list_timeline": "a list id or the address of a list (https://x.com/i/lists/123)",
    "trends": "a WOEID (1 is the whole world)",
    "people": "a name of 1 to 50 letters, digits, spaces, ' or _",
    "usage": "all",
}


def _accepted(facet: Facet) -> str:
    match facet.subject:
        case Subject.USER if facet.name == "handles":
            return "a handle (alice, @alice) or a profile address (https://x.com/alice)"
        case Subject.USER if facet.name == "profile":
            return f"{_BY_ID}, a handle (alice, @alice) or a profile address (https://x.com/alice)"
        case Subject.USER:
            return _BY_ID
        case Subject.POST:
            return "a post id (digits, or x:123) or the address of a post (https://x.com/alice/status/123)"
    most = _LONGEST_QUERY.get(facet.name, 512)
    return _ACCEPTED_WORDS.get(facet.name, f"a query of 1 to {most} characters")


target = partial(parse_target, user=_user, post=_names.post, word=_word, accepted=_accepted)
