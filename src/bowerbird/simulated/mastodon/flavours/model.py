"""What a flavour is made of: in which ways a server that speaks Mastodon's API differs from the newest Mastodon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from bowerbird.simulated.wire import JSON, Reply, encode

Shape = Callable[[dict[str, Any], bool], dict[str, Any]]
"""Rewrites an account (and whether it is embedded in something else) as the software writes it."""


class Refusal(Struct, frozen=True):
    """One answer of refusal, as it goes out."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = {}

    def reply(self) -> Reply:
        return Reply(self.status, self.body, {"content-type": self.content_type, **self.headers})


def says(status: int, error: str) -> Refusal:
    """A refusal in JSON, with its reason as `error`."""
    return Refusal(status, encode({"error": error}))


class Addresses(Struct, frozen=True):
    """How things are named in the whole network; `home` is the server's own address, `key` its id of the post."""

    account_uri: str = "{home}/users/{name}"
    account_url: str = "{home}/@{name}"
    post_uri: str = "{home}/users/{name}/statuses/{key}"
    post_url: str = "{home}/@{name}/{key}"
    boost_uri: str = "{home}/users/{name}/statuses/{key}/activity"


class Rate(Struct, frozen=True, kw_only=True):
    """One limit by address, and what is said to those who exceed it."""

    name: str
    allowance: int
    window: timedelta
    refusal: Refusal
    paths: tuple[str, ...] = ("/api",)
    is_told: bool = False
    """Whether `X-RateLimit-*` describes it."""


class Live(Struct, frozen=True, kw_only=True):
    """What the server streams, and how."""

    has_sockets: bool = True
    has_events: bool = True
    """Server-sent events."""
    needs_user: bool = True
    tells_hashtags: bool = True
    """Some let anybody subscribe to a hashtag and never send anything."""
    tells_edits_first: bool = False
    """An edit may come before the post as it was first written."""
    hides_reasons: bool = True
    """A WebSocket is refused with an empty body, the reason in `X-Error-Message`."""


def _unchanged(value: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    return value


class ServerInfo(Struct, frozen=True, kw_only=True):
    """One software that speaks Mastodon's API; the defaults are the newest Mastodon."""

    name: str
    software: str = "mastodon"
    version: str = "4.8.0"
    says_version: str = ""
    """What `/api/v1/instance` gives as version, where that differs."""
    api_version: int | None = 7
    tells_access: bool = True
    """`timelines_access` in `/api/v2/instance`."""
    lacks: frozenset[str] = frozenset()
    """Routes of Mastodon that do not exist."""
    posts_only: frozenset[str] = frozenset()
    """Routes that exist to write to, not to read."""
    refusals: Mapping[str, Refusal] = {}
    """The server's own words, by Mastodon's."""
    open_to_guests: frozenset[str] | None = None
    """Routes that need no user, where that is decided by route."""
    ignores_bad_tokens: bool = False
    """Whoever comes with a bad token is a guest, where guests are let in."""
    ids: str = "snowflake"
    addresses: Addresses = Addresses()
    account: Shape = _unchanged
    status: Shape = _unchanged
    is_reshaped: bool = False
    """Whether `account` and `status` change anything."""
    lists_by_account: bool = False
    """Followers come in the order of account ids, not of follows."""
    reactions: str = "paged"
    """Who boosted and liked: `paged`, `whole` in one answer, or the `first` page alone, because the next is asked for wrongly."""
    filters_after_paging: bool = False
    ignores_since: bool = False
    lists_boosts: bool = True
    """In the statuses of an account."""
    searches_text: bool = True
    unknown_tag: Refusal | None = None
    hides_suspended: bool = False
    """A suspended account is not found, instead of shown empty."""
    live: Live = Live()
    federates_late: bool = False
    """Posts from elsewhere come some time after they were written, and are listed by the time they were written."""
    rates: tuple[Rate, ...] | None = None
    """Limits, where they are not Mastodon's."""
    head_has_body: bool = False
