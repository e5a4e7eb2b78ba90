"""What a person may write for a target on the X API."""

from __future__ import annotations

import re

from bowerbird.errors import UserError
from bowerbird.model import Facet, Subject
from bowerbird.providers.targets import Spelling

_KEY = re.compile(r"(?:x:)?(\d{1,19})", re.ASCII)
_HANDLE = re.compile(r"@?(\w{1,15})", re.ASCII)
_HOST = r"https?://(?:www\.|mobile\.)?(?:twitter|x)\.com"
_PROFILE_URL = re.compile(_HOST + r"/@?(\w{1,15})/?(?:\?.*)?", re.ASCII)
_POST_URL = re.compile(_HOST + r"/(?:\w{1,15}|i/web)/status(?:es)?/(\d{1,19})/?(?:[?/].*)?", re.ASCII)
_LIST_URL = re.compile(_HOST + r"/i/lists/(\d{1,19})/?(?:\?.*)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_' ]{1,50}")
_LONGEST_QUERY = {"search": 512, "search_all": 1024}
_BY_ID = "the account's id (digits, or x:123)"


def _user(written: str, facet: Facet) -> str | None:
    is_id = _KEY.fullmatch(written)
    if is_id and facet.name != "handles":
        return is_id[1]
    found = _PROFILE_URL.fullmatch(written) or _HANDLE.fullmatch(written)
    if found is None:
        return None
    if facet.name not in ("profile", "handles"):
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
            found = _KEY.fullmatch(written) or _LIST_URL.fullmatch(written)
            return found[1] if found else None
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


target = Spelling(_user, _post, _word, _accepted).target
