"""The Mastodon dialect against the tables of the API: paging, limits, headers and error bodies."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import pytest

from bowerbird.model import Request
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.mastodon import MastodonDialect
from bowerbird.simulated.mastodon.federation import Vantage
from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.tokens import IssuedTokens
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.rows import QUOTE, REPOST, Row
from bowerbird.simulated.world.settings import DAY, NEVER, to_ms

NOW = datetime(2026, 1, 9, 12, 3, 20, 19685, tzinfo=UTC)


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


class Server:
    """A server of the test's own over the shared world, with one user token and one app token."""

    def __init__(self) -> None:
        self.tokens = IssuedTokens()
        self.user, self.app = self.tokens.issue("user"), self.tokens.issue("app")
        self.limiter = Limiter()
        self.dialect = MastodonDialect(Vantage(world()), self.limiter, self.tokens)

    def get(self, path: str, token: str = "", at: datetime = NOW, **query: Any) -> Reply:
        pairs = [(key, str(each)) for key, value in query.items() for each in (value if isinstance(value, list) else [value])]
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return self.dialect.handle(Request(path=path, query=tuple(pairs), headers=headers), at)

    def key(self, account: int) -> str:
        return self.dialect.account_key(account)


@pytest.fixture
def server() -> Server:
    return Server()


def body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def next_of(reply: Reply) -> dict[str, str]:
    match = re.search(r'<[^>]*\?([^>]*)>; rel="next"', reply.headers.get("link", ""))
    return dict(pair.split("=") for pair in match[1].split("&")) if match else {}


def accounts_that(are: Any) -> list[int]:
    return [int(account) for account in np.flatnonzero(are) if world().exists(int(account), to_ms(NOW))]


def popular() -> int:
    graph, people = world().graph, world().people
    shown = [each for each in accounts_that(~people.hides_network & (people.rate > 0)) if world().is_open(each, to_ms(NOW))]
    return max(shown, key=lambda each: graph.counts(each, to_ms(NOW))[0])


def test_headers_describe_the_tightest_throttle_with_a_microsecond_reset(server: Server) -> None:
    reply = server.get("/api/v1/directory", server.user.value)
    assert reply.headers["x-ratelimit-limit"] == "300"
    assert reply.headers["x-ratelimit-remaining"] == "299"
    assert reply.headers["x-ratelimit-reset"] == "2026-01-09T12:05:00.019685Z"


def test_paging_has_its_own_tighter_throttle(server: Server) -> None:
    for _ in range(10):
        server.get(f"/api/v1/accounts/{server.key(popular())}/followers", server.user.value, max_id=9_999_999)
    later = NOW + timedelta(minutes=5)
    reply = server.get(f"/api/v1/accounts/{server.key(popular())}/followers", server.user.value, later, max_id=9_999_999)
    assert reply.headers["x-ratelimit-remaining"] == "289"
    assert reply.headers["x-ratelimit-reset"].startswith("2026-01-09T12:15:00")
    assert server.get("/api/v1/directory", server.user.value, later).headers["x-ratelimit-remaining"] == "298"


def test_the_301st_request_is_refused_until_the_window_ends(server: Server) -> None:
    for _ in range(300):
        assert server.get("/api/v2/instance").status == 200
    reply = server.get("/api/v2/instance")
    assert reply.status == 429
    assert body(reply) == {"error": "Too many requests"}
    assert reply.headers["x-ratelimit-remaining"] == "0"
    assert server.get("/api/v2/instance", server.user.value).status == 200
    assert server.get("/api/v2/instance", at=datetime(2026, 1, 9, 12, 5, tzinfo=UTC)).status == 200


def test_five_tokens_of_one_account_share_its_1500(server: Server) -> None:
    tokens = [server.tokens.issue("user", account="same").value for _ in range(6)]
    statuses = [server.get("/api/v2/instance", token).status for token in tokens for _ in range(300)]
    assert statuses == [200] * 1_500 + [429] * 300


def test_followers_are_paged_by_internal_ids_of_the_link_header(server: Server) -> None:
    path = f"/api/v1/accounts/{server.key(popular())}/followers"
    found: list[str] = []
    reply = server.get(path, limit=80)
    while True:
        found += [account["id"] for account in body(reply)]
        following = next_of(reply)
        if not following:
            break
        assert int(following["max_id"]) < 10_000_000
        reply = server.get(path, **following)
    listed, _ = world().graph.followers(popular(), to_ms(NOW))
    assert len(found) == len(set(found)) > 80
    assert set(found) <= {server.key(int(account)) for account in listed}


def test_limits_above_the_maximum_are_clipped_and_negative_ones_refused(server: Server) -> None:
    path = f"/api/v1/accounts/{server.key(popular())}/followers"
    assert len(body(server.get(path, limit=500))) == 80
    assert len(body(server.get(path))) == 40
    reply = server.get(path, limit=-1)
    assert reply.status == 400
    assert body(reply) == {"error": "Pagination values for `offset` and `limit` must be positive"}


def test_a_new_follower_between_pages_does_not_shift_them(server: Server) -> None:
    path = f"/api/v1/accounts/{server.key(popular())}/followers"
    first = server.get(path, limit=10)
    now = server.get(path, limit=10, max_id=next_of(first)["max_id"])
    later = server.get(path, limit=10, at=NOW + timedelta(days=1), max_id=next_of(first)["max_id"])
    fresh = server.get(path, limit=10, at=NOW + timedelta(days=10))
    assert {a["id"] for a in body(later)} & {a["id"] for a in body(now)}
    assert [a["id"] for a in body(fresh)] != [a["id"] for a in body(first)]


def test_timelines_page_down_and_catch_up_without_holes(server: Server) -> None:
    path = f"/api/v1/accounts/{server.key(int(np.argmax(world().people.rate * world().people.history)))}/statuses"
    newest = [status["id"] for status in body(server.get(path, limit=40))]
    assert newest == sorted(newest, key=int, reverse=True)
    below = [status["id"] for status in body(server.get(path, limit=40, max_id=newest[9]))]
    assert below[:30] == newest[10:]
    assert [s["id"] for s in body(server.get(path, limit=5, since_id=newest[9]))] == newest[:5]
    assert [s["id"] for s in body(server.get(path, limit=5, min_id=newest[9]))] == newest[4:9]
    assert "next" not in server.get(path, limit=40, since_id=newest[3]).headers["link"]


def test_a_suspended_account_is_200_and_empty(server: Server) -> None:
    now = to_ms(NOW)
    account = accounts_that((world().people.suspended <= now) & (now < world().people.returned))[0]
    shown = body(server.get(f"/api/v1/accounts/{server.key(account)}"))
    assert shown["suspended"] is True
    assert (shown["display_name"], shown["note"], shown["fields"], shown["bot"]) == ("", "", [], False)
    for listing in ("followers", "following", "statuses"):
        assert body(server.get(f"/api/v1/accounts/{server.key(account)}/{listing}")) == []


def test_a_hidden_network_is_an_empty_list_with_counts(server: Server) -> None:
    hidden = accounts_that(world().people.hides_network)
    account = max(hidden, key=lambda each: world().graph.counts(each, to_ms(NOW))[0])
    shown = body(server.get(f"/api/v1/accounts/{server.key(account)}"))
    assert shown["hide_collections"] is True
    assert shown["followers_count"] > 0
    assert body(server.get(f"/api/v1/accounts/{server.key(account)}/followers")) == []


def test_protected_accounts_are_locked_and_show_no_posts(server: Server) -> None:
    people = world().people
    account = accounts_that((people.protected == 0) & (people.unprotected > to_ms(NOW)) & (people.rate > 0))[0]
    assert body(server.get(f"/api/v1/accounts/{server.key(account)}"))["locked"] is True
    assert body(server.get(f"/api/v1/accounts/{server.key(account)}/statuses")) == []


def test_unknown_and_deleted_accounts_are_404(server: Server) -> None:
    gone = int(np.flatnonzero(world().people.left <= to_ms(NOW))[0])
    for key in (server.key(gone), "1", "abc", "9" * 30):
        reply = server.get(f"/api/v1/accounts/{key}")
        assert (reply.status, body(reply)) == (404, {"error": "Record not found"})


def test_batches_omit_what_is_not_there_and_refuse_too_many(server: Server) -> None:
    gone = int(np.flatnonzero(world().people.left <= to_ms(NOW))[0])
    keys = [server.key(popular()), server.key(gone), "17"]
    assert [account["id"] for account in body(server.get("/api/v1/accounts", **{"id[]": keys}))] == keys[:1]
    assert server.get("/api/v1/accounts", **{"id[]": ["1"] * 41}).status == 422
    assert server.get("/api/v1/statuses", **{"id[]": ["1"] * 21}).status == 422


@pytest.mark.parametrize(
    ("state", "status", "message"),
    [
        ("revoked", 401, "The access token was revoked"),
        ("expired", 401, "The access token expired"),
        ("disabled", 403, "Your login is currently disabled"),
    ],
)
def test_bad_tokens_say_why(server: Server, state: str, status: int, message: str) -> None:
    server.tokens.mark(server.user.value, state)
    reply = server.get("/api/v1/directory", server.user.value)
    assert (reply.status, body(reply)) == (status, {"error": message})


def test_unknown_tokens_and_missing_scopes_are_refused(server: Server) -> None:
    assert body(server.get("/api/v1/directory", "nonsense")) == {"error": "The access token is invalid"}
    writer = server.tokens.issue("user", scopes=("write",))
    assert server.get("/api/v1/directory", writer.value).status == 403


def test_where_a_user_is_needed_an_app_gets_422_and_a_guest_401(server: Server) -> None:
    for token, status in (("", 401), (server.app.value, 422), (server.user.value, 200)):
        assert server.get("/api/v1/accounts/search", token, q="ana").status == status


def test_guests_may_not_page_or_resolve_in_search(server: Server) -> None:
    assert server.get("/api/v2/search", q="ana", offset=20).status == 401
    assert server.get("/api/v2/search", q="ana", resolve="true").status == 401
    assert body(server.get("/api/v2/search", q="coffee", type="statuses"))["statuses"] == []
    found = body(server.get("/api/v2/search", server.user.value, q="coffee", type="statuses"))["statuses"]
    assert found
    assert all("coffee" in status["content"] and status["account"]["indexable"] for status in found)


def test_hashtag_timelines_hold_only_public_posts_with_the_tag(server: Server) -> None:
    first = server.get("/api/v1/timelines/tag/football")
    found = body(first)
    assert found
    assert all("football" in [tag["name"] for tag in status["tags"]] and status["visibility"] == "public" for status in found)
    assert int(body(server.get("/api/v1/timelines/tag/football", max_id=found[-1]["id"]))[0]["id"]) < int(found[-1]["id"])


def test_the_public_timeline_is_newest_first_and_ends_now(server: Server) -> None:
    ids = [int(status["id"]) for status in body(server.get("/api/v1/timelines/public", limit=40))]
    assert ids == sorted(ids, reverse=True)
    assert 0 <= to_ms(NOW) - (ids[0] >> 16) < 3_600_000


def test_private_posts_are_nowhere_to_be_seen(server: Server) -> None:
    busiest = [server.key(int(each)) for each in np.argsort(-world().people.rate)[:15]]
    seen = [status for key in busiest for status in body(server.get(f"/api/v1/accounts/{key}/statuses", limit=40))]
    inner = [status["reblog"] for status in seen if status["reblog"]]
    assert inner
    assert {status["visibility"] for status in [*seen, *inner]} == {"public", "unlisted"}


def test_a_thread_has_ancestors_and_descendants(server: Server) -> None:
    for key in [server.key(int(each)) for each in np.argsort(-world().people.rate)[:40]]:
        for status in body(server.get(f"/api/v1/accounts/{key}/statuses", server.user.value, limit=40, exclude_reblogs="true")):
            if status["in_reply_to_id"]:
                context = body(server.get(f"/api/v1/statuses/{status['id']}/context", server.app.value))
                if not context["ancestors"]:
                    continue
                assert context["ancestors"][-1]["id"] == status["in_reply_to_id"]
                above = body(server.get(f"/api/v1/statuses/{status['in_reply_to_id']}/context"))
                assert status["id"] in [each["id"] for each in above["descendants"]]
                return
    raise AssertionError("nobody answered anybody")


def test_what_is_passed_on_shows_what_it_quotes_and_a_quote_only_names_what_is_quoted_there() -> None:
    now, write = to_ms(NOW), Payloads(Vantage(world()))
    passing: dict[int, list[Row]] = {REPOST: [], QUOTE: []}
    for row in chain.from_iterable(world().timeline(account, now) for account in range(len(world().people))):
        target = world().post(row.target, now) if row.kind in passing else None
        if target is not None and target.kind == QUOTE:
            passing[row.kind].append(row)
    reposts = [each for each in map(msgspec.json.decode, write.statuses(passing[REPOST], now)) if each["reblog"]]
    quotes = [each for each in map(msgspec.json.decode, write.statuses(passing[QUOTE], now)) if each["quote"]]
    shown = [each["reblog"]["quote"]["quoted_status"] for each in reposts if each["reblog"]["quote"]]
    named = [each["quote"]["quoted_status"]["quote"] for each in quotes if each["quote"]["quoted_status"]["quote"]]
    assert shown
    assert all(each["content"] and each["account"]["id"] for each in shown)
    assert named
    assert all(each.keys() == {"state", "quoted_status_id"} for each in named)


def test_a_deleted_post_becomes_404(server: Server) -> None:
    now = to_ms(NOW)
    busiest = np.argsort(-world().people.rate)[:60].tolist()
    rows = [row for each in busiest for row in world().all_rows(each, now - 5 * DAY, now) if now < row.gone_at < NEVER][:100]
    statuses = []
    for row in rows:
        path, after = f"/api/v1/statuses/{server.dialect.post_key(row.number)}", timedelta(milliseconds=row.gone_at - now + 1)
        statuses.append((server.get(path).status, server.get(path, at=NOW + after).status))
    assert (200, 404) in statuses
    assert {later for _, later in statuses} == {404}


def test_another_domain_has_other_ids(server: Server) -> None:
    other = MastodonDialect(Vantage(world(), "elsewhere.example"), Limiter(), IssuedTokens())
    assert other.account_key(5) != server.key(5)
    assert other.account_number(other.account_key(5)) == 5


def test_an_app_registers_and_gets_a_token(server: Server) -> None:
    def post(path: str, form: bytes) -> Reply:
        return server.dialect.handle(Request(path=path, method="POST", body=form), NOW)

    app = body(post("/api/v1/apps", b"client_name=study&redirect_uris=urn"))
    form = f"grant_type=client_credentials&client_id={app['client_id']}&client_secret={app['client_secret']}"
    token = body(post("/oauth/token", form.encode()))["access_token"]
    assert server.get("/api/v1/directory", token).status == 200
    statuses = [post("/api/v1/apps", b"client_name=study&redirect_uris=urn").status for _ in range(5)]
    assert statuses == [200] * 4 + [429]


def test_a_missing_post_and_a_missing_route_differ_by_the_limits_in_the_headers(server: Server) -> None:
    post, route = server.get("/api/v1/statuses/17"), server.get("/api/v1/nothing")
    assert (post.status, body(post)) == (route.status, body(route)) == (404, {"error": "Not Found"})
    assert "x-ratelimit-limit" in post.headers
    assert "x-ratelimit-limit" not in route.headers
