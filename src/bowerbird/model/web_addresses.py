"""Web addresses: of servers, as far as a secret may know them, of profiles where many servers make one network, of posts."""

from __future__ import annotations

import re
from functools import cache

from bowerbird.model.networks import NETWORKS

# Stricter than any client's own parser, so that none of them can read another host in what passes.
_ORIGIN = re.compile(
    r"(?:(https|wss)|http|ws)://([a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?(?=[/?#]|\Z)",
    re.ASCII | re.IGNORECASE,
)
_PROFILE = re.compile(r"(?P<server>https?://(?P<host>[^/]+))/@(?P<name>[^/@]+)/?")
_FORMS = [each.post_forms for each in NETWORKS.values() if each.post_forms is not None]


def origin(address: str) -> str:
    """Scheme, host and port of a web address or a stream's, in one spelling; empty for what names no host beyond doubt."""
    found = _ORIGIN.match(address)
    if found is None:
        return ""
    scheme, usual = ("https", 443) if found[1] else ("http", 80)
    port = int(found[3] or usual)
    return f"{scheme}://{found[2].lower()}" + ("" if port == usual else f":{port}")


def ids_at(address: str) -> tuple[str, ...]:
    """The ids that an account may have whose profile is at this web address, by the rules of Mastodon and GoToSocial and of
    Takahē; none where it is no such address. The address stands for the id where a server does not send it."""
    found = _PROFILE.fullmatch(address)
    if found is None:
        return ()
    server, host, name = found["server"], found["host"], found["name"]
    return f"{server}/users/{name}", f"{server}/@{name}@{host}/"


def post_address(id_: str) -> str | None:
    """Where a browser finds the post with this id: that need not be stored. None where the id does not tell it."""
    return next((address for of_id, of_address in _FORMS if (address := _said_otherwise(id_, of_id, of_address))), None)


def post_at(address: str) -> str | None:
    """The id of the post at this address; None where the address does not tell it."""
    return next((id_ for of_id, of_address in _FORMS if (id_ := _said_otherwise(address, of_address, of_id))), None)


def _said_otherwise(text: str, form: str, other: str) -> str | None:
    """The same author and key in another form; None where the text does not have the first one."""
    found = _pattern(form).fullmatch(text)
    return None if found is None else other.format(author=found["author"], key=found["key"])


@cache
def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(re.escape(form).replace(r"\{author\}", "(?P<author>[^/?#]+)").replace(r"\{key\}", "(?P<key>[^/?#]+)"))
