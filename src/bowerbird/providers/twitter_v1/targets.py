"""What a person may write for a target on the classic Twitter API."""

from __future__ import annotations

import re
from functools import partial

from bowerbird.model import Facet, Subject
from bowerbird.providers.base import hashtag, needs_id, parse_target
from bowerbird.providers.x_shared import Names

_names = Names(digits=20, letters=20)
_LIST = re.compile(r"\d{1,20}|\w{1,20}/[\w-]{1,25}", re.ASCII)
_BY_HANDLE = frozenset({"profile", "profiles", "timeline", "liked", "lists"})
_LONGEST_QUERY = 500


def _user(written: str, facet: Facet) -> str | None:
    if key := _names.key(written):
        return key
    handle = _names.handle(written)
    if handle and facet.name not in _BY_HANDLE:
        raise needs_id(facet, written, handle)
    return f"@{handle}" if handle else None


def _word(written: str, facet: Facet) -> str | None:
    match facet.name:
        case "hashtag":
            return hashtag(written)
        case "members" | "list_timeline":
            return written if _LIST.fullmatch(written) else None
    return written if 0 < len(written) <= _LONGEST_QUERY else None


def _accepted(facet: Facet) -> str:
    match facet.subject:
        case Subject.USER if facet.name in _BY_HANDLE:
            return "an account id, a handle (alice, @alice) or a profile address (https://x.com/alice)"
        case Subject.USER:
            return "the account's id (digits, or x:123)"
        case Subject.POST:
            return "a post id (digits, or x:123) or the address of a post (https://x.com/alice/status/123)"
    if facet.name == "hashtag":
        return "a hashtag without spaces"
    return "a list id or owner/slug" if facet.name in ("members", "list_timeline") else "a query of 1 to 500 characters"


target = partial(parse_target, user=_user, post=_names.post, word=_word, accepted=_accepted)
