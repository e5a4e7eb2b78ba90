"""GoToSocial 0.20.

Routes: `internal/api/client/{accounts,statuses,streaming,timelines}`; everything but the instance needs a user. Pages are cut
first and filtered then, with `next` from the unfiltered page (`internal/processing/account/statuses.go`,
`…/timeline/tag.go`); the statuses of an account take no `since_id`. The account model has no `uri`, `indexable`, `noindex` or
`group` (`internal/api/model/account.go`). Ids are ULIDs of the time a post was written. Search finds only posts by and to the
one who searches. The throttle is `internal/middleware/throttling.go`. 405 for methods, `{"error":"Not Found"}`, the order of
stream events and the silent hashtag stream were measured.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bowerbird.simulated.mastodon.flavours.model import Addresses, Live, Rate, Refusal, ServerInfo, says
from bowerbird.simulated.mastodon.reasons import NEEDS_USER, NO_POST, NO_ROUTE, NOT_FOUND, UNKNOWN_NAME, WRONG_METHOD

_UNAUTHORIZED = says(401, "Unauthorized: token not supplied")
_BAD_TOKEN = says(401, "Unauthorized: invalid token")
_NO_FIELDS = frozenset({"uri", "indexable", "group", "noindex"})
_CAPACITY = Refusal(429, b'{"error":"server capacity exceeded"}', headers={"retry-after": "30"})


def _account(account: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    kept = {name: value for name, value in account.items() if name not in _NO_FIELDS}
    if not kept.get("hide_collections"):
        kept.pop("hide_collections", None)
    return kept


def _status(status: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name not in ("quote", "quotes_count")}


GOTOSOCIAL = ServerInfo(
    name="gotosocial",
    software="gotosocial",
    version="0.20.2+git-cfc0ebb",
    api_version=None,
    tells_access=False,
    lacks=frozenset(
        {
            "/api/v1/statuses/:key/quotes",
            "/api/v1/timelines/link",
            "/api/v1/trends",
            "/api/v1/trends/tags",
            "/api/v1/trends/statuses",
            "/api/v1/trends/links",
            "/api/v1/directory",
        }
    ),
    posts_only=frozenset({"/api/v1/accounts", "/api/v1/statuses"}),
    refusals={
        NO_ROUTE: says(404, "Not Found"),
        WRONG_METHOD: Refusal(405, b"405 method not allowed", "text/plain"),
        NOT_FOUND: says(404, "Not Found"),
        NO_POST: says(404, "Not Found"),
        UNKNOWN_NAME: says(404, "Not Found"),
        NEEDS_USER: _UNAUTHORIZED,
        "Missing access token": _UNAUTHORIZED,
        "The access token is invalid": _BAD_TOKEN,
        "The access token was revoked": _BAD_TOKEN,
        "The access token expired": _BAD_TOKEN,
        "Invalid access token": _BAD_TOKEN,
        "This action is outside the authorized scopes": says(403, "Forbidden: token has insufficient scope permission"),
    },
    open_to_guests=frozenset(
        {
            "/api/v1/instance",
            "/api/v2/instance",
            "/api/v1/instance/rules",
            "/.well-known/nodeinfo",
            "/nodeinfo/2.0",
            "/robots.txt",
            "/",
            "/oauth/authorize",
            "/oauth/token",
            "/api/v1/apps",
        }
    ),
    ids="ulid",
    addresses=Addresses(post_url="{home}/@{name}/statuses/{key}", boost_uri="{home}/users/{name}/statuses/{key}"),
    account=_account,
    status=_status,
    is_reshaped=True,
    filters_after_paging=True,
    ignores_since=True,
    searches_text=False,
    unknown_tag=says(404, "Not Found: tag was not found, or not useable/listable on this instance"),
    live=Live(has_events=False, tells_hashtags=False, tells_edits_first=True, hides_reasons=False),
    federates_late=True,
    rates=(
        Rate(
            name="rate limit",
            allowance=300,
            window=timedelta(minutes=5),
            refusal=says(429, "rate limit reached"),
            is_told=True,
        ),
        # So many at once on four cores, queue included; a second stands for the time they take.
        Rate(name="throttle", allowance=96, window=timedelta(seconds=1), refusal=_CAPACITY),
    ),
)
