"""Pleroma 2.9, and Akkoma, which began as a copy of it.

Routes: `lib/pleroma/web/router.ex`; whatever else lies under `/api` is 404 `{"error":"Not implemented"}`
(`Fallback.RedirectController`). `GET /statuses` wants `ids[]` and takes up to 100 (`StatusController.index`); without it the
request is 400. Accounts have no `uri`: `pleroma.ap_id` (`AccountView`). Who boosted and who liked comes whole in one answer,
followers in the order of account ids. A bad token counts as none where guests are let in and is 403 `Invalid credentials.`
elsewhere (`OAuthPlug`, `EnsureAuthenticatedPlug`). Timelines: three calls in half a second by address, then 429 `Throttled`
without headers (`config.exs`, `RateLimiter`). Streams are WebSockets, public ones for anybody.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from bowerbird.simulated.mastodon.flavours.model import Addresses, Live, Rate, Refusal, ServerInfo, says
from bowerbird.simulated.mastodon.reasons import NEEDS_USER, NO_POST, NO_ROUTE, NOT_FOUND, UNKNOWN_NAME, WRONG_METHOD

_NO_IDS = Refusal(
    400,
    b'{"error":"Missing field: ids.","errors":[{"message":"Missing field: ids","source":{"pointer":"/ids"}}]}',
)
_NO_CREDENTIALS = says(403, "Invalid credentials.")
_NO_FIELDS = frozenset({"uri", "indexable", "discoverable", "noindex", "hide_collections", "group", "roles"})


def _account(account: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    kept = {name: value for name, value in account.items() if name not in _NO_FIELDS}
    is_hidden = account["hide_collections"]
    counters = {"followers_count": 0, "following_count": 0} if is_hidden else {}
    own = {"ap_id": account["uri"], "hide_followers": is_hidden, "hide_follows": is_hidden, "is_confirmed": True, "tags": []}
    source = {"note": "", "fields": [], "sensitive": False, "pleroma": {"discoverable": account["discoverable"]}}
    return kept | counters | {"pleroma": own, "source": source, "fqn": account["acct"]}


def _status(status: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    kept = {name: value for name, value in status.items() if name not in ("quote", "quotes_count")}
    quoted = (status.get("quote") or {}).get("quoted_status")
    own = {
        "local": "@" not in status["account"]["acct"],
        "quote": quoted,
        "quote_url": quoted and quoted["uri"],
        "emoji_reactions": _emoji(status["favourites_count"]),
    }
    return kept | {"pleroma": own}


def _emoji(likes: int) -> list[dict[str, Any]]:
    """For every third like somebody gives an emoji instead."""
    return [{"name": "🐦", "count": likes // 3, "me": False}] if likes >= 3 else []


PLEROMA = ServerInfo(
    name="pleroma",
    software="pleroma",
    version="2.9.1",
    says_version="2.7.2 (compatible; Pleroma 2.9.1)",
    api_version=None,
    tells_access=False,
    lacks=frozenset(
        {
            "/api/v1/accounts",
            "/api/v1/statuses/:key/quotes",
            "/api/v1/accounts/:key/featured_tags",
            "/api/v1/timelines/link",
            "/api/v1/trends/tags",
            "/api/v1/trends/statuses",
            "/api/v1/trends/links",
        }
    ),
    posts_only=frozenset({"/api/v1/statuses"}),
    refusals={
        NO_ROUTE: says(404, "Not implemented"),
        WRONG_METHOD: _NO_IDS,
        NOT_FOUND: says(404, "Record not found"),
        NO_POST: says(404, "Record not found"),
        UNKNOWN_NAME: says(404, "Record not found"),
        NEEDS_USER: _NO_CREDENTIALS,
        "The access token is invalid": _NO_CREDENTIALS,
        "The access token was revoked": _NO_CREDENTIALS,
        "The access token expired": _NO_CREDENTIALS,
        "Invalid access token": _NO_CREDENTIALS,
        "This action is outside the authorized scopes": says(403, "Insufficient permissions: read."),
    },
    ignores_bad_tokens=True,
    ids="flake",
    addresses=Addresses(
        account_url="{home}/users/{name}",
        post_uri="{home}/objects/{key}",
        post_url="{home}/notice/{key}",
        boost_uri="{home}/activities/{key}",
    ),
    account=_account,
    status=_status,
    is_reshaped=True,
    lists_by_account=True,
    reactions="whole",
    hides_suspended=True,
    live=Live(has_events=False, needs_user=False, hides_reasons=False),
    federates_late=True,
    rates=(
        Rate(
            name="timeline",
            allowance=6,
            window=timedelta(seconds=1),
            refusal=says(429, "Throttled"),
            paths=("/api/v1/timelines",),
        ),
    ),
)

AKKOMA = replace(
    PLEROMA,
    name="akkoma",
    software="akkoma",
    version="3.15.2",
    says_version="2.7.2 (compatible; Akkoma 3.15.2)",
    lacks=PLEROMA.lacks | {"/api/v2/instance"},
)
