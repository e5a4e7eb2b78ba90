"""What a person may write for a target on the classic Twitter API."""

from __future__ import annotations

import re

from bowerbird.errors import UserError
from bowerbird.model import Facet, Subject
from bowerbird.providers.targets import Spelling

_KEY = re.compile(r"(?:x:)?(\d{1,20})", re.ASCII)
_HANDLE = re.compile(r"@?(\w{1,20})", re.ASCII)
_HOST = r"https?://(?:www\.|mobile\.)?(?:twitter|x)\.com"
_PROFILE_URL = re.compile(_HOST + r"/@?(\w{1,20})/?(?:\?.*)?", re.ASCII)
_POST_URL = re.compile(_HOST + r"/(?:\w{1,20}|i/web)/status(?:es)?/(\d{1,20})/?(?:[?/].*)?", re.ASCII)
_LIST = re.compile(r"\d{1,20}|\w{1,20}/[\w-]{1,25}", re.ASCII)
_BY_HANDLE = frozenset({"profile", "profiles", "timeline", "liked"})
_LONGEST_QUERY = 500


def _user(written: str, facet: Facet) -> str | None:
    if key := _KEY.fullmatch(written):
        return key[1]
    found = _PROFILE_URL.fullmatch(written) or _HANDLE.fullmatch(written)
    if found is None:
        return None
    if facet.name not in _BY_HANDLE:
        raise UserError(
            f"{facet.name} asks by the account's id, not by {written!r}: write the id (digits), "
            f"or seed the facet `profile` with @{found[1]} and let an edge lead to `{facet.name}`"
        )
    return f"@{found[1]}"


def _post(written: str) -> str | None:
    found = _KEY.fullmatch(written) or _POST_URL.fullmatch(written)
    return found[1] if found else None


def _word(written: str, facet: Facet) -> str | None:
    match facet.name:
        case "hashtag":
            tag = written.removeprefix("#").casefold()
            return tag if tag and not re.search(r"[\s#]", tag) else None
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


target = Spelling(_user, _post, _word, _accepted).target
