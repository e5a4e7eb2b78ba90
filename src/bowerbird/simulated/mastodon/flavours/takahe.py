"""Takahē 0.11.

Routes: `api/urls.py`; what is missing is Django's own HTML page, for objects too (`get_object_or_404`), but not for `lookup`.
A bad token is 400 text (`api/middleware.py`), none at all 401 `identity_token_required` (`api/decorators.py`). Accounts have
no `uri` (`api/schemas.py`) and, embedded, no counters (`include_counts=False`). Boosts are interactions, not posts: an
account's statuses leave them out. `reblogged_by` pages by interactions but links by accounts (`api/pagination.py`), so that
there is no second page. Followers come in the order of account ids. Search has neither pages nor words; there are no streams
and no limits. A post's language is never told. Blocked identities are not found. `HEAD /` with a body was measured.
"""

from __future__ import annotations

from typing import Any

from bowerbird.simulated.mastodon.flavours.model import Addresses, Live, Refusal, ServerInfo, says
from bowerbird.simulated.mastodon.reasons import NEEDS_USER, NO_POST, NO_ROUTE, NOT_FOUND, WRONG_METHOD

_PAGE = b"<!DOCTYPE html>\n<html lang='en'><head><title>Not Found</title></head><body><h1>Not Found</h1></body></html>"
_MISSING = Refusal(404, _PAGE, "text/html; charset=utf-8")
_BAD_TOKEN = Refusal(400, b"Invalid Bearer token", "text/html; charset=utf-8")
_NO_IDENTITY = says(401, "identity_token_required")
_NO_FIELDS = frozenset({"uri", "indexable", "noindex", "hide_collections", "roles"})
_COUNTERS = ("followers_count", "following_count", "statuses_count")


def _account(account: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    kept = {name: value for name, value in account.items() if name not in _NO_FIELDS} | {"last_status_at": None, "bot": False}
    return kept | dict.fromkeys(_COUNTERS, 0) if is_embedded else kept


def _status(status: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    kept = {name: value for name, value in status.items() if name not in ("quote", "quotes_count", "application")}
    return kept | {"language": None}


TAKAHE = ServerInfo(
    name="takahe",
    software="takahe",
    version="0.11.0",
    says_version="takahe/0.11.0",
    api_version=None,
    tells_access=False,
    lacks=frozenset(
        {
            "/api/v1/accounts",
            "/api/v1/statuses",
            "/api/v1/statuses/:key/quotes",
            "/api/v1/statuses/:key/history",
            "/api/v1/timelines/link",
            "/api/v1/directory",
            "/api/v1/trends",
            "/api/v1/instance/rules",
            "/api/v1/apps/verify_credentials",
        }
    ),
    refusals={
        NO_ROUTE: _MISSING,
        WRONG_METHOD: _MISSING,
        NOT_FOUND: _MISSING,
        NO_POST: _MISSING,
        NEEDS_USER: _NO_IDENTITY,
        "The access token is invalid": _BAD_TOKEN,
        "The access token was revoked": _BAD_TOKEN,
        "The access token expired": _BAD_TOKEN,
        "This action is outside the authorized scopes": says(403, "out_of_scope_for_token"),
    },
    open_to_guests=frozenset(
        {
            "/api/v1/accounts/lookup",
            "/api/v1/accounts/:key/followers",
            "/api/v1/accounts/:key/following",
            "/api/v1/statuses/:key/reblogged_by",
            "/api/v1/statuses/:key/favourited_by",
            "/api/v1/timelines/public",
            "/api/v1/instance",
            "/api/v2/instance",
            "/api/v1/instance/peers",
            "/.well-known/nodeinfo",
            "/nodeinfo/2.0",
            "/robots.txt",
            "/",
            "/oauth/authorize",
            "/oauth/token",
            "/api/v1/apps",
        }
    ),
    addresses=Addresses(
        account_uri="{home}/@{name}@{domain}/",
        account_url="{home}/@{name}/",
        post_uri="{home}/@{name}@{domain}/posts/{key}/",
        post_url="{home}/@{name}@{domain}/posts/{key}/",
        boost_uri="{home}/@{name}@{domain}/posts/{key}/",
    ),
    account=_account,
    status=_status,
    is_reshaped=True,
    lists_by_account=True,
    reactions="first",
    lists_boosts=False,
    searches_text=False,
    hides_suspended=True,
    live=Live(has_sockets=False, has_events=False),
    federates_late=True,
    rates=(),
    head_has_body=True,
)
