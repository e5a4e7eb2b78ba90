"""Mastodon itself: the newest one, and three older releases that are still met.

Routes and fields by release: `config/routes/api.rb` and `app/serializers/rest` of mastodon/mastodon and the "History" notes
of docs.joinmastodon.org. Batch look-ups came with 4.3, `quote` with 4.4, `/quotes` and `timelines_access` with 4.5. An
unknown route answers `{"error":"Not Found"}` (`ApplicationController`) without limits in its headers. The newest releases say the
same of a post that is not there (`not_found` in `set_status`), with them.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bowerbird.simulated.mastodon.flavours.model import Live, ServerInfo, says
from bowerbird.simulated.mastodon.reasons import NO_POST, NO_ROUTE, WRONG_METHOD

_REFUSALS = {NO_ROUTE: says(404, "Not Found"), WRONG_METHOD: says(404, "Not Found")}
_NEW_REFUSALS = {**_REFUSALS, NO_POST: says(404, "Not Found")}
_QUOTES = "/api/v1/statuses/:key/quotes"
_BATCHES = frozenset({"/api/v1/accounts", "/api/v1/statuses"})


def _without_quotes(status: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name not in ("quote", "quotes_count")}


NEWEST = ServerInfo(name="mastodon", refusals=_NEW_REFUSALS, live=Live(hides_reasons=False))
"""As every test that names no flavour meets it: no post is late, and refused sockets say why in their body."""

MASTODON_4_5 = ServerInfo(name="mastodon-4.5", version="4.5.2", refusals=_REFUSALS, federates_late=True)

MASTODON_4_3 = ServerInfo(
    name="mastodon-4.3",
    version="4.3.8",
    api_version=2,
    tells_access=False,
    lacks=frozenset({_QUOTES}),
    refusals=_REFUSALS,
    status=_without_quotes,
    is_reshaped=True,
    federates_late=True,
)


def _numbered(value: Any, name: str = "") -> Any:
    """The same with numbers for ids, as Mastodon wrote them before 2.0, and some copies of its API still do."""
    if isinstance(value, dict):
        return {key: _numbered(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_numbered(each) for each in value]
    is_id = (name == "id" or name.endswith("_id")) and isinstance(value, str) and value.isdecimal()
    return int(value) if is_id else value


def _numbered_account(account: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    return {key: _numbered(value, key) for key, value in account.items()}


def _numbered_status(status: dict[str, Any], is_embedded: bool) -> dict[str, Any]:
    return {key: _numbered(value, key) for key, value in _without_quotes(status, is_embedded).items()}


NUMBERED = replace(MASTODON_4_3, name="mastodon-numbers", account=_numbered_account, status=_numbered_status)

MASTODON_4_2 = ServerInfo(
    name="mastodon-4.2",
    version="4.2.20",
    api_version=None,
    tells_access=False,
    lacks=frozenset({_QUOTES, "/api/v1/timelines/link"}),
    posts_only=_BATCHES,
    refusals=_REFUSALS,
    status=_without_quotes,
    is_reshaped=True,
    # Without Elasticsearch, as on most small servers: a search for words finds no post.
    searches_text=False,
    federates_late=True,
)
