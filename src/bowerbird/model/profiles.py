"""Web addresses of profiles, where several servers make one network."""

from __future__ import annotations

import re

_PROFILE = re.compile(r"(?P<server>https?://(?P<host>[^/]+))/@(?P<name>[^/@]+)/?")


def ids_at(address: str) -> tuple[str, ...]:
    """The ids that an account may have whose profile is at this web address, by the rules of Mastodon and GoToSocial and of
    Takahē; none where it is no such address. The address stands for the id where a server does not send it."""
    found = _PROFILE.fullmatch(address)
    if found is None:
        return ()
    server, host, name = found["server"], found["host"], found["name"]
    return f"{server}/users/{name}", f"{server}/@{name}@{host}/"
