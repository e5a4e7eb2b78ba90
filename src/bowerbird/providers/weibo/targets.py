"""What a person may write for a target on Weibo."""

from __future__ import annotations

import re
from functools import partial

from bowerbird.model import Facet, Subject
from bowerbird.providers.base import needs_id, parse_target
from bowerbird.providers.weibo.ids import from_mid
from bowerbird.providers.weibo.requests import PERIODS

_KEY = re.compile(r"(?:weibo:)?(\d{1,20})", re.ASCII)
_HANDLE = re.compile(r"@?([\w-]{1,30})")
_HOST = r"https?://(?:www\.|m\.|e\.)?weibo\.(?:com|cn)"
_PROFILE_URL = re.compile(_HOST + r"/(?:u/|profile/)?(\d{6,20})/?(?:\?.*)?", re.ASCII)
_NAME_URL = re.compile(_HOST + r"/n/([\w-]{1,30})/?(?:\?.*)?")
_DOMAIN_URL = re.compile(_HOST + r"/([A-Za-z]\w{2,29})/?(?:\?.*)?", re.ASCII)
_POST_URL = re.compile(_HOST + r"/(?:\d{6,20}|status|detail)/(\w{1,20})/?(?:[?#].*)?", re.ASCII)
_MID = re.compile(r"[0-9a-zA-Z]{5,11}")
_POINT = re.compile(r"(-?\d{1,2}(?:\.\d{1,8})?),\s*(-?\d{1,3}(?:\.\d{1,8})?)", re.ASCII)
_BY_HANDLE = frozenset({"profile", "timeline"})
_LONGEST_QUERY = 100


def _user(written: str, facet: Facet) -> str | None:
    if key := _KEY.fullmatch(written) or _PROFILE_URL.fullmatch(written):
        return key[1]
    if (domain := _DOMAIN_URL.fullmatch(written)) and facet.name == "profile":
        return f"@/{domain[1]}"
    found = _NAME_URL.fullmatch(written) or _HANDLE.fullmatch(written)
    if found is None:
        return None
    if facet.name not in _BY_HANDLE:
        raise needs_id(facet, written, found[1])
    return f"@{found[1]}"


def _post(written: str) -> str | None:
    if key := _KEY.fullmatch(written):
        return key[1]
    found = _POST_URL.fullmatch(written)
    mid = found[1] if found else written
    if _KEY.fullmatch(mid):
        return mid
    return from_mid(mid) if _MID.fullmatch(mid) else None


def _word(written: str, facet: Facet) -> str | None:
    match facet.name:
        case "search" | "hashtag":
            topic = written.strip("#").strip()
            return topic if 0 < len(topic) <= _LONGEST_QUERY and "#" not in topic else None
        case "nearby":
            point = _POINT.fullmatch(written)
            return f"{point[1]},{point[2]}" if point else None
        case "trends":
            return written if written in PERIODS else None
        case "public" | "limits":
            return "all" if written == "all" else None
    return written if 0 < len(written) <= _LONGEST_QUERY else None


def _accepted(facet: Facet) -> str:
    match facet.subject:
        case Subject.USER if facet.name in _BY_HANDLE:
            return "an account id, a handle (alice, @alice) or a profile address (https://weibo.com/u/1404376560)"
        case Subject.USER:
            return "the account's id (digits, or weibo:123)"
        case Subject.POST:
            return (
                "a post id (digits, or weibo:123), its short form (z0JH2lOMb) or its address (https://weibo.com/123456/z0JH2lOMb)"
            )
    words = {"nearby": "latitude,longitude", "trends": ", ".join(PERIODS), "public": "all", "limits": "all"}
    return words.get(facet.name, "a topic of 1 to 100 characters")


target = partial(parse_target, user=_user, post=_post, word=_word, accepted=_accepted)
