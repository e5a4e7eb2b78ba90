"""What a person may write for a target on Bluesky."""

from __future__ import annotations

import re
from functools import partial

from bowerbird.errors import UserError
from bowerbird.model import Facet, Subject, tag_form
from bowerbird.providers.base import parse_target
from bowerbird.providers.bluesky.syntax import LIST, POST, AtUri, at_uri, is_did, is_handle, is_record_key

_PROFILE_URL = re.compile(r"https?://[^/\s]+/profile/([^/\s?#]+)/?(?:[?#].*)?")
_RECORD_URL = re.compile(r"https?://[^/\s]+/profile/([^/\s]+)/(post|lists)/([^/\s?#]+)/?(?:[?#].*)?")
_BY_HANDLE = frozenset({"profile", "profiles", "timeline", "lists"})
_EVERYTHING = frozenset({"trends", "repos"})
_LONGEST_QUERY = 500


def _user(written: str, facet: Facet) -> str | None:
    address = _PROFILE_URL.fullmatch(written)
    name = (address[1] if address else written).removeprefix("@")
    if is_did(name):
        return name
    if not is_handle(name):
        return None
    if facet.name not in _BY_HANDLE:
        raise UserError(
            f"{facet.name} asks by the account's DID, not by {written!r}",
            f"write the DID (did:plc:…), or seed the facet `profile` with @{name} and let an edge lead to `{facet.name}`",
        )
    return f"@{name.casefold()}"


def _post(written: str) -> str | None:
    return _record(written, "post", POST)


def _record(written: str, place: str, collection: str) -> str | None:
    """A record named by at-uri or by its page on the web; only a DID names its author for good."""
    uri = _uri(written, place, collection)
    if uri is None:
        return None
    if not is_did(uri.authority):
        raise UserError(
            f"{written!r} names its author by a handle, which may change",
            f"write it with the DID (at://did:plc:…/{collection}/{uri.rkey}); the facet `profile` tells the DID of @{uri.authority}",
        )
    return str(uri)


def _uri(written: str, place: str, collection: str) -> AtUri | None:
    address = _RECORD_URL.fullmatch(written)
    if address is not None and address[2] == place and is_record_key(address[3]):
        return AtUri(address[1], collection, address[3])
    uri = at_uri(written)
    return uri if uri is not None and uri.collection == collection and uri.rkey else None


def _word(written: str, facet: Facet) -> str | None:
    if facet.name in _EVERYTHING:
        return written if written == "all" else None
    if facet.name == "members":
        return _record(written, "lists", LIST)
    if facet.name == "hashtag":
        tag = tag_form(written.removeprefix("#"))
        return tag if tag and not re.search(r"[\s#]", tag) else None
    return written if 0 < len(written) <= _LONGEST_QUERY else None


def _accepted(facet: Facet) -> str:
    match facet.subject:
        case Subject.USER if facet.name in _BY_HANDLE:
            return "a DID (did:plc:…), a handle (alice.bsky.social) or a profile address (https://bsky.app/profile/alice.bsky.social)"
        case Subject.USER:
            return "the account's DID (did:plc:…)"
        case Subject.POST:
            return f"an at-uri (at://did:plc:…/{POST}/…) or the address of a post (https://bsky.app/profile/did:plc:…/post/…)"
    if facet.name in _EVERYTHING:
        return "all"
    if facet.name == "members":
        return f"the at-uri of a list (at://did:plc:…/{LIST}/…) or its address (https://bsky.app/profile/did:plc:…/lists/…)"
    return "a hashtag without spaces" if facet.name == "hashtag" else "a query of 1 to 500 characters"


_spelling = partial(parse_target, user=_user, post=_post, word=_word, accepted=_accepted)


def target(text: str, facet: Facet) -> str:
    """The target meant by what was written. A thread may be asked for by a post whose author is named by handle: the service
    looks the handle up itself."""
    if facet.name == "thread" and (uri := _uri(text.strip(), "post", POST)) is not None and is_handle(uri.authority):
        return str(uri)
    return _spelling(text, facet)
