"""The v1.1 dialect against the tables of the API: paging, limits, headers and error bodies."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest

from bowerbird.model import Request
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.twitter_v1 import TwitterV1Dialect
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.rows import author_of
from bowerbird.simulated.world.settings import DAY, to_ms

NOW = datetime(2026, 1, 9, 12, 3, 20, 400_000, tzinfo=UTC)


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


class Server:
    """An API of the test's own over a shared world, with one user token and one app token."""

    def __init__(self, over: World) -> None:
        self.tokens = IssuedTokens()
        self.user, self.app = self.tokens.issue("user"), self.tokens.issue("app")
        self.dialect = TwitterV1Dialect(over, Limiter(), self.tokens)

    def get(self, path: str, token: Token | None = None, at: datetime = NOW, method: str = "GET", **query: Any) -> Reply:
        pairs = tuple((key, str(value)) for key, value in query.items())
        headers = {"authorization": signed(token or self.app)}
        if method == "POST":
            form = "&".join(f"{key}={value}" for key, value in pairs).encode()
            return self.dialect.handle(Request(path=f"/1.1/{path}.json", method="POST", body=form, headers=headers), at)
        return self.dialect.handle(Request(path=f"/1.1/{path}.json", query=pairs, headers=headers), at)

    def key(self, account: int) -> str:
        return self.dialect.account_key(account)


def signed(token: Token) -> str:
    if token.kind == "app":
        return f"Bearer {token.value}"
    return f'OAuth oauth_consumer_key="{token.consumer_key}", oauth_token="{token.value}", oauth_signature="x"'


@pytest.fixture
def server() -> Server:
    return Server(world())


def body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def code(reply: Reply) -> tuple[int, int]:
    return reply.status, body(reply)["errors"][0]["code"]


def open_accounts() -> list[int]:
    return [each for each in range(900) if world().is_open(each, to_ms(NOW))]


def popular() -> int:
    return max(open_accounts(), key=lambda each: world().graph.counts(each, to_ms(NOW))[0])


def writer() -> int:
    people = world().people
    return max(open_accounts(), key=lambda each: min(float(people.rate[each]), 30) * (people.history[each] < 3_000))


def suspended() -> int:
    people, now = world().people, to_ms(NOW)
    return int(np.flatnonzero((people.suspended <= now) & (now < people.returned) & (people.left > now))[0])


def protected() -> int:
    return next(each for each in range(900) if world().availability(each, to_ms(NOW)) == "protected")


def test_fifteen_calls_of_follower_ids_then_429_until_the_window_that_the_first_call_opened_ends(server: Server) -> None:
    replies = [server.get("followers/ids", user_id=server.key(popular())) for _ in range(16)]
    assert [reply.status for reply in replies] == [200] * 15 + [429]
    assert code(replies[-1]) == (429, 88)
    assert [reply.headers["x-rate-limit-remaining"] for reply in replies[:2]] == ["14", "13"]
    reset = datetime.fromtimestamp(int(replies[0].headers["x-rate-limit-reset"]), UTC)
    assert reset == datetime(2026, 1, 9, 12, 18, 20, tzinfo=UTC)
    assert server.get("followers/ids", at=reset, user_id=server.key(popular())).status == 200


def test_user_and_app_have_their_own_allowances(server: Server) -> None:
    assert server.get("users/lookup", server.user, user_id=server.key(popular())).headers["x-rate-limit-limit"] == "900"
    assert server.get("users/lookup", server.app, user_id=server.key(popular())).headers["x-rate-limit-limit"] == "300"
    assert server.get("users/search", server.user, q="ana").status == 200
    assert code(server.get("users/search", server.app, q="ana")) == (403, 220)


def test_cursors_lead_through_all_followers_and_end_with_zero(server: Server) -> None:
    found: list[str] = []
    cursor = -1
    for _ in range(15):
        page = body(server.get("followers/ids", user_id=server.key(popular()), count=40, cursor=cursor, stringify_ids="true"))
        found += page["ids"]
        cursor = page["next_cursor"]
        assert page["next_cursor_str"] == str(cursor)
        if cursor == 0:
            break
    listed = world().graph.followers(popular(), to_ms(NOW))[0].tolist()
    true = {server.key(each) for each in listed if world().availability(each, to_ms(NOW)) in ("open", "protected")}
    assert cursor == 0 or len(found) >= 500
    assert len(set(found)) == len(found)
    assert set(found) <= true
    assert cursor != 0 or set(found) == true


def test_max_id_is_inclusive_and_since_id_exclusive(server: Server) -> None:
    def ids(**query: Any) -> list[int]:
        return [tweet["id"] for tweet in body(server.get("statuses/user_timeline", user_id=server.key(writer()), **query))]

    newest = ids(count=50)
    assert newest == sorted(newest, reverse=True)
    assert ids(max_id=newest[5], count=10) == newest[5:15]
    assert ids(since_id=newest[5]) == newest[:5]


def test_a_timeline_reaches_back_3200_posts() -> None:
    over = World(WorldSettings(accounts=300, seed=4, history=timedelta(days=900)))
    now = to_ms(NOW)
    account = next(each for each in range(300) if over.is_open(each, now) and over.post_count(each, now) > 3_400)
    server = Server(over)
    found: list[int] = []
    query: dict[str, Any] = {}
    while True:
        page = body(server.get("statuses/user_timeline", user_id=server.key(account), count=200, **query))
        if not page:
            break
        found += [tweet["id"] for tweet in page]
        query = {"max_id": found[-1] - 1}
    assert 3_000 < len(found) <= 3_200
    assert len(set(found)) == len(found)


def test_filters_are_applied_after_the_count(server: Server) -> None:
    key = server.key(writer())
    whole = body(server.get("statuses/user_timeline", user_id=key, count=60))
    without = body(server.get("statuses/user_timeline", user_id=key, count=60, include_rts="false", exclude_replies="true"))
    kept = [t["id"] for t in whole if "retweeted_status" not in t and t["in_reply_to_status_id"] is None]
    assert [tweet["id"] for tweet in without] == kept
    assert len(kept) < len(whole)


def test_a_protected_timeline_is_a_bare_error_without_errors_array(server: Server) -> None:
    reply = server.get("statuses/user_timeline", user_id=server.key(protected()))
    assert reply.status == 401
    assert reply.body == b'{"request":"\\/1.1\\/statuses\\/user_timeline.json","error":"Not authorized."}'


def test_suspended_unknown_and_missing_users_have_their_codes(server: Server) -> None:
    assert code(server.get("users/show", user_id=server.key(suspended()))) == (403, 63)
    assert code(server.get("users/show", user_id="7")) == (404, 50)
    assert code(server.get("users/show", screen_name="nobody")) == (404, 50)
    assert code(server.get("users/lookup", user_id=server.key(suspended()))) == (404, 17)
    assert code(server.get("statuses/show/20")) == (404, 144)
    assert code(server.get("no/such")) == (404, 34)
    assert code(server.get("users/show")) == (403, 25)


def test_lookup_takes_a_hundred_by_get_and_post_and_drops_the_missing(server: Server) -> None:
    keys = [server.key(each) for each in [*open_accounts()[:30][::-1], suspended()]] + ["5"]
    for method in ("GET", "POST"):
        found = [user["id_str"] for user in body(server.get("users/lookup", method=method, user_id=",".join(keys)))]
        assert set(found) == set(keys[:30])
        assert found != keys[:30]
    assert server.get("users/lookup", user_id=",".join(["5"] * 101)).status == 403


def test_posts_are_looked_up_with_and_without_a_map(server: Server) -> None:
    tweets = body(server.get("statuses/user_timeline", user_id=server.key(writer()), count=3))
    key = tweets[0]["id_str"]
    assert [tweet["id_str"] for tweet in body(server.get("statuses/lookup", id=f"{key},123"))] == [key]
    mapped = body(server.get("statuses/lookup", id=f"{key},123", map="true"))["id"]
    assert mapped["123"] is None
    assert mapped[key]["id_str"] == key


def test_extended_mode_has_full_text_and_trimmed_users_only_ids(server: Server) -> None:
    asked = {"user_id": server.key(writer()), "count": 1, "tweet_mode": "extended", "trim_user": "true"}
    tweet = body(server.get("statuses/user_timeline", **asked))[0]
    assert "text" not in tweet
    assert tweet["display_text_range"] == [0, len(tweet["full_text"])]
    assert set(tweet["user"]) == {"id", "id_str"}


def test_entities_lie_where_they_say(server: Server) -> None:
    tweets = body(server.get("statuses/user_timeline", user_id=server.key(writer()), count=200))
    originals = [tweet for tweet in tweets if "retweeted_status" not in tweet]
    places = [(t["text"], tag["indices"], f"#{tag['text']}") for t in originals for tag in t["entities"]["hashtags"]]
    places += [(t["text"], m["indices"], f"@{m['screen_name']}") for t in originals for m in t["entities"]["user_mentions"]]
    assert places
    assert all(text[start:stop] == word for text, (start, stop), word in places)


def test_search_finds_a_week_and_pages_by_next_results(server: Server) -> None:
    first = body(server.get("search/tweets", q="#football", count=3))
    assert len(first["statuses"]) == 3
    assert all("football" in [tag["text"] for tag in tweet["entities"]["hashtags"]] for tweet in first["statuses"])
    following = dict(pair.split("=") for pair in first["search_metadata"]["next_results"][1:].split("&"))
    second = body(server.get("search/tweets", q="#football", count=3, max_id=following["max_id"]))
    assert second["statuses"][0]["id"] < first["statuses"][-1]["id"]
    week = body(server.get("search/tweets", q="#football", count=100))["statuses"]
    assert min(tweet["id"] >> 22 for tweet in week) + 1_288_834_974_657 >= to_ms(NOW) - 7 * DAY


def test_retweets_and_retweeters_agree_with_the_counter(server: Server) -> None:
    for number in world().calendar.day(3).references.target.tolist():
        if world().post(number, to_ms(NOW)) is None or not world().is_open(author_of(number), to_ms(NOW)):
            continue
        tweet = body(server.get(f"statuses/show/{number}"))
        retweets = body(server.get(f"statuses/retweets/{number}"))
        if retweets:
            assert all(each["retweeted_status"]["id"] == number for each in retweets)
            assert set(body(server.get("statuses/retweeters/ids", id=number))["ids"]) >= {each["user"]["id"] for each in retweets}
            assert tweet["retweet_count"] >= len(retweets)
            return
    raise AssertionError("nobody retweeted anything")


def test_tokens_are_checked(server: Server) -> None:
    server.tokens.mark(server.app.value, "revoked")
    assert code(server.get("users/show", server.app, user_id="5")) == (401, 89)
    wrong = Token(value=server.user.value, consumer_key="other")
    assert code(server.get("users/show", wrong, user_id="5")) == (401, 32)
    assert code(server.dialect.handle(Request(path="/1.1/users/show.json"), NOW)) == (400, 215)


def test_the_limits_can_be_asked_for(server: Server) -> None:
    server.get("users/show", user_id=server.key(popular()))
    status = body(server.get("application/rate_limit_status", resources="users,search"))
    assert set(status["resources"]) == {"users", "search"}
    assert status["resources"]["users"]["/users/show"] == {"limit": 900, "remaining": 899, "reset": to_ms(NOW) // 1000 + 900}


def test_an_app_gets_its_bearer_token_by_basic_credentials(server: Server) -> None:
    basic = b64encode(f"{server.user.consumer_key}:{server.user.consumer_secret}".encode()).decode()
    request = Request(path="/oauth2/token", method="POST", headers={"authorization": f"Basic {basic}"})
    token = body(server.dialect.handle(request, NOW))["access_token"]
    known = server.tokens.get(token)
    assert known is not None
    assert server.get("users/show", known, user_id=server.key(popular())).status == 200
    assert code(server.dialect.handle(Request(path="/oauth2/token", method="POST"), NOW)) == (403, 99)


def test_state_changes_between_calls(server: Server) -> None:
    people, now, at = world().people, to_ms(NOW), world().profiles.at
    leaves = int(np.flatnonzero((people.left > now) & (people.left < now + 100 * DAY) & (people.created < now))[0])
    renamed = next(each for each in open_accounts() if at(each, now).handle != at(each, now + 100 * DAY).handle)
    later = NOW + timedelta(days=100)
    assert server.get("users/show", user_id=server.key(leaves)).status in (200, 403)
    assert code(server.get("users/show", user_id=server.key(leaves), at=later)) == (404, 50)
    assert code(server.get("users/show", screen_name=at(renamed, now).handle, at=later)) == (404, 50)
