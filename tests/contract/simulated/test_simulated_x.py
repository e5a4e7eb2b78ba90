"""The v2 dialect against the tables of the API: fields, paging, errors, limits, caps and money."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest

from bowerbird.model import Request
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.service import Setup, simulate
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.twitter_v1 import TwitterV1Dialect
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, author_of
from bowerbird.simulated.world.settings import to_ms
from bowerbird.simulated.x_v2 import Budget, XV2Dialect

NOW = datetime(2026, 1, 9, 12, 3, 20, 400_000, tzinfo=UTC)
MS = to_ms(NOW)


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


class Server:
    """An API of the test's own over a shared world, with one user token and one app token."""

    def __init__(self, over: World | None = None, **options: Any) -> None:
        self.tokens = IssuedTokens()
        self.user, self.app = self.tokens.issue("user"), self.tokens.issue("app")
        self.dialect = XV2Dialect(over or world(), Limiter(), self.tokens, **options)

    def get(self, path: str, token: Token | None = None, at: datetime = NOW, **query: Any) -> Reply:
        pairs = tuple((key.replace("__", "."), str(value)) for key, value in query.items())
        headers = {"authorization": f"Bearer {(token or self.app).value}"}
        return self.dialect.handle(Request(path=f"/2/{path}", query=pairs, headers=headers), at)

    def read(self, path: str, token: Token | None = None, **query: Any) -> Any:
        reply = self.get(path, token, **query)
        assert reply.status == 200, reply.body
        return msgspec.json.decode(reply.body)


@pytest.fixture
def server() -> Server:
    return Server()


def body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def key(account: int) -> str:
    return Server().dialect.account_key(account)


def open_accounts() -> list[int]:
    return [each for each in range(900) if world().is_open(each, MS)]


@cache
def popular() -> int:
    return max(open_accounts(), key=lambda each: world().graph.counts(each, MS)[0])


@cache
def writer() -> int:
    people = world().people
    return max(open_accounts(), key=lambda each: min(float(people.rate[each]), 30) * (people.history[each] < 3_000))


@cache
def suspended() -> int:
    people = world().people
    return int(np.flatnonzero((people.suspended <= MS) & (people.returned > MS) & (people.left > MS))[0])


@cache
def protected() -> int:
    return next(each for each in range(900) if world().availability(each, MS) == "protected")


@cache
def followed_by_suspended() -> int:
    lists = {each: world().graph.followers(each, MS)[0].tolist() for each in open_accounts()}
    return next(each for each, who in lists.items() if any(world().availability(one, MS) == "suspended" for one in who[3:]))


def error(reply: Any) -> tuple[str, str]:
    return reply["errors"][0]["title"], reply["errors"][0]["type"].rpartition("/")[2]


def test_only_default_fields_come_unasked(server: Server) -> None:
    assert set(server.read(f"users/{key(popular())}")["data"]) == {"id", "name", "username"}
    page = server.read(f"users/{key(writer())}/tweets")
    assert all(set(post) == {"id", "text", "edit_history_tweet_ids"} for post in page["data"])
    assert set(page) == {"data", "meta"}
    assert page["meta"]["result_count"] == len(page["data"])


def test_fields_and_expansions_come_when_asked_for(server: Server) -> None:
    asked = {
        "tweet__fields": "author_id,referenced_tweets,attachments,geo,entities,public_metrics,conversation_id",
        "expansions": "author_id,referenced_tweets.id,referenced_tweets.id.author_id,attachments.media_keys,geo.place_id",
        "media__fields": "url",
        "max_results": 100,
    }
    page = server.read(f"users/{key(writer())}/tweets", **asked)
    included = page["includes"]
    assert set(included) == {"users", "tweets", "media", "places"}
    users = {user["id"] for user in included["users"]}
    assert {post["author_id"] for post in page["data"] + included["tweets"]} <= users
    keys = {each for post in page["data"] for each in post.get("attachments", {}).get("media_keys", [])}
    assert keys <= {media["media_key"] for media in included["media"] if media["url"]}
    wanted = {each["id"] for post in page["data"] for each in post.get("referenced_tweets", [])}
    lost = {each["resource_id"] for each in page.get("errors", [])}
    assert wanted == {post["id"] for post in included["tweets"]} | lost


def test_an_unknown_field_or_parameter_is_refused(server: Server) -> None:
    for query in ({"tweet__fields": "favourites"}, {"expansions": "friends"}, {"count": 5}):
        reply = server.get(f"users/{key(writer())}/tweets", **query)
        assert (reply.status, body(reply)["title"]) == (400, "Invalid Request")
        assert reply.headers["content-type"] == "application/problem+json"


def test_ids_are_those_of_the_classic_dialect(server: Server) -> None:
    classic = TwitterV1Dialect(world(), Limiter(), server.tokens)
    assert [classic.account_key(each) for each in (3, 700)] == [server.dialect.account_key(each) for each in (3, 700)]
    query = (("user_id", key(writer())), ("count", "50"))
    request = Request(
        path="/1.1/statuses/user_timeline.json", query=query, headers={"authorization": f"Bearer {server.app.value}"}
    )
    old = [tweet["id_str"] for tweet in body(classic.handle(request, NOW))]
    assert old == [post["id"] for post in server.read(f"users/{key(writer())}/tweets", max_results=50)["data"]]


def test_the_new_spelling_changes_names_and_nothing_else() -> None:
    asked = {"tweet__fields": "author_id,public_metrics,referenced_tweets", "expansions": "author_id,referenced_tweets.id"}
    asked |= {"user__fields": "public_metrics", "max_results": "60"}
    old = Server().get(f"users/{key(writer())}/tweets", **asked).body.decode()
    new = Server(spelling="post").get(f"users/{key(writer())}/tweets", **asked).body.decode()
    names = {
        '"referenced_tweets"': '"referenced_posts"',
        '"edit_history_tweet_ids"': '"edit_history_post_ids"',
        '"retweet_count"': '"repost_count"',
        '"tweet_count"': '"post_count"',
        '"tweets"': '"posts"',
    }
    for before, after in names.items():
        assert before in old
        old = old.replace(before, after)
    assert old.replace('"parameter":"referenced_posts.id"', '"parameter":"referenced_tweets.id"') == new


def test_the_new_spelling_may_also_be_asked_in() -> None:
    server = Server(spelling="post")
    page = server.read(f"users/{key(writer())}/tweets", post__fields="referenced_posts", expansions="referenced_posts")
    assert page["includes"]["posts"]
    assert simulate(Setup(dialect="x_post"), world()).dialect.name == "x"


def test_a_batch_has_errors_beside_its_data(server: Server) -> None:
    page = server.read("users", ids=f"{key(popular())},5,{key(suspended())},{key(protected())}", user__fields="protected")
    assert [user["id"] for user in page["data"]] == [key(popular()), key(protected())]
    assert [user["protected"] for user in page["data"]] == [False, True]
    found = [(each["title"], each["detail"], each["resource_id"]) for each in page["errors"]]
    assert found == [
        ("Not Found Error", "Could not find user with ids: [5].", "5"),
        ("Forbidden", f"User has been suspended: [{key(suspended())}].", key(suspended())),
    ]
    assert "data" not in server.read("users", ids="5,6")


def test_a_batch_of_more_than_a_hundred_or_of_words_is_refused(server: Server) -> None:
    assert server.get("users", ids=",".join(map(str, range(101)))).status == 400
    assert server.get("tweets", ids="12,abc").status == 400
    assert server.get("users").status == 400


def test_single_lookups_say_200_for_what_is_not_there(server: Server) -> None:
    handle = world().profiles.at(popular(), MS).handle
    assert server.read(f"users/by/username/{handle}")["data"]["id"] == key(popular())
    assert error(server.read("users/by/username/nobody123")) == ("Not Found Error", "resource-not-found")
    assert error(server.read(f"users/{key(suspended())}")) == ("Forbidden", "resource-not-found")
    assert error(server.read("tweets/20")) == ("Not Found Error", "resource-not-found")
    names = server.read("users/by", usernames=f"{handle},nobody123")
    assert (len(names["data"]), names["errors"][0]["parameter"]) == (1, "usernames")


@pytest.mark.parametrize("path", ["tweets", "followers", "following", "mentions"])
def test_lists_of_protected_and_suspended_accounts_are_refused(server: Server, path: str) -> None:
    assert error(server.read(f"users/{key(protected())}/{path}")) == ("Authorization Error", "not-authorized-for-resource")
    assert error(server.read(f"users/{key(suspended())}/{path}")) == ("Forbidden", "resource-not-found")


def test_posts_of_protected_accounts_are_not_authorized(server: Server) -> None:
    post = next(iter(world().timeline(protected(), MS)), None) or next(iter(world().timeline(suspended(), MS)))
    page = server.read("tweets", ids=str(post.number))
    assert error(page) == ("Authorization Error", "not-authorized-for-resource")
    assert page["errors"][0]["section"] == "data"


def test_followers_are_found_page_by_page_in_short_pages(server: Server) -> None:
    found: list[str] = []
    account = followed_by_suspended()
    query: dict[str, Any] = {"max_results": 2}
    sizes = []
    while True:
        page = server.read(f"users/{key(account)}/followers", **query)
        found += [user["id"] for user in page.get("data", [])]
        sizes.append(page["meta"]["result_count"])
        if "next_token" not in page["meta"]:
            break
        assert len(page["meta"]["next_token"]) >= 16
        query["pagination_token"] = page["meta"]["next_token"]
    listed = world().graph.followers(account, MS)[0].tolist()
    assert set(found) == {key(each) for each in listed if world().availability(each, MS) in ("open", "protected")}
    assert len(set(found)) == len(found)
    assert min(sizes[:-1]) < 2


def test_a_token_that_is_none_is_refused(server: Server) -> None:
    assert server.get(f"users/{key(popular())}/followers", pagination_token="x").status == 400


def test_since_id_and_until_id_are_both_exclusive(server: Server) -> None:
    def ids(**query: Any) -> list[str]:
        page = server.read(f"users/{key(writer())}/tweets", max_results=50, **query)
        return [post["id"] for post in page.get("data", [])]

    newest = ids()
    assert ids(since_id=newest[5]) == newest[:5]
    assert ids(until_id=newest[5])[:10] == newest[6:16]
    assert ids(since_id=newest[0]) == []
    assert server.read(f"users/{key(writer())}/tweets", since_id=newest[0]) == {"meta": {"result_count": 0}}


def timeline(server: Server, account: int, **query: Any) -> list[str]:
    found: list[str] = []
    while True:
        page = server.read(f"users/{key(account)}/tweets", max_results=100, **query)
        found += [post["id"] for post in page.get("data", [])]
        if "next_token" not in page["meta"]:
            return found
        query["pagination_token"] = page["meta"]["next_token"]


def test_a_timeline_reaches_back_3200_posts_and_800_without_replies() -> None:
    over = World(WorldSettings(accounts=300, seed=4, history=timedelta(days=900)))
    account = next(each for each in range(300) if over.is_open(each, MS) and over.post_count(each, MS) > 3_400)
    found = timeline(Server(over), account)
    assert 3_000 < len(found) <= 3_200
    assert len(set(found)) == len(found)
    assert len(timeline(Server(over), account, exclude="replies")) < 800


@pytest.mark.parametrize(
    ("path", "size"),
    [("users/{}/tweets", 4), ("users/{}/tweets", 101), ("users/{}/followers", 1001), ("users/{}/followers", 0)],
)
def test_page_sizes_outside_the_bounds_are_refused(server: Server, path: str, size: int) -> None:
    reply = server.get(path.format(key(writer())), max_results=size)
    assert reply.status == 400
    assert f"[{size}] is not between" in body(reply)["errors"][0]["message"]


def most_answered() -> int:
    references = world().calendar.day(3).references
    targets = references.target[references.kind[references.start[:-1]] == REPLY].tolist()
    return int(next(each for each in targets if world().post(each, MS) and world().is_open(author_of(each), MS)))


def test_a_conversation_is_found_by_search(server: Server) -> None:
    number = most_answered()
    root = server.read(f"tweets/{number}", tweet__fields="conversation_id")["data"]["conversation_id"]
    page = server.read("tweets/search/recent", query=f"conversation_id:{root}", tweet__fields="conversation_id,referenced_tweets")
    assert page["data"]
    assert {post["conversation_id"] for post in page["data"]} == {root}
    assert {post["referenced_tweets"][0]["type"] for post in page["data"]} == {"replied_to"}


def test_search_knows_its_operators(server: Server) -> None:
    def ids(query: str) -> set[str]:
        return {post["id"] for post in server.read("tweets/search/recent", query=query, max_results=100).get("data", [])}

    handle = world().profiles.at(writer(), MS).handle
    own = ids(f"from:{handle}")
    assert own
    assert ids(f"from:{handle} -is:retweet") | ids(f"from:{handle} is:retweet") >= own
    assert ids("#football OR #music") == ids("(#music OR #football)")
    assert ids("#football -#football") == set()
    assert ids("#football") & ids("#football lang:en") == ids("#football lang:en")
    assert server.get("tweets/search/recent", query="has:images").status == 400
    assert server.get("tweets/search/recent", query="(a").status == 400
    assert server.get("tweets/search/recent", query="x" * 513).status == 400


def test_recent_search_reaches_seven_days_back_and_half_a_minute_less(server: Server) -> None:
    asked: dict[str, Any] = {"query": "#football OR #music OR lang:en", "max_results": 100, "tweet__fields": "created_at"}
    times: list[str] = []
    while True:
        page = server.read("tweets/search/recent", **asked)
        times += [post["created_at"] for post in page.get("data", [])]
        if "next_token" not in page["meta"]:
            break
        asked["next_token"] = page["meta"]["next_token"]
    assert min(times) >= f"{NOW - timedelta(days=7):%Y-%m-%dT%H:%M:%S}"
    assert max(times) <= f"{NOW - timedelta(seconds=30):%Y-%m-%dT%H:%M:%S.999}"
    old = f"{NOW - timedelta(days=8):%Y-%m-%dT%H:%M:%SZ}"
    assert server.get("tweets/search/recent", query="cats", start_time=old).status == 400
    assert server.get("tweets/search/recent", query="cats", since_id=1000).status == 400
    assert server.get("tweets/search/all", query="cats", start_time=old).status == 200


def test_the_archive_is_asked_once_a_second_by_applications_only(server: Server) -> None:
    first, second = (server.get("tweets/search/all", query="cats") for _ in range(2))
    assert (first.status, second.status) == (200, 429)
    assert (first.headers["x-rate-limit-remaining"], second.headers["x-rate-limit-remaining"]) == ("299", "299")
    assert body(second)["title"] == "Too Many Requests"
    assert server.get("tweets/search/all", at=NOW + timedelta(seconds=1), query="cats").status == 200
    assert server.get("tweets/search/all", server.user, query="cats").status == 403


def test_likes_are_for_users_only_and_a_hundred_at_most(server: Server) -> None:
    assert body(server.get("tweets/1/liking_users"))["type"].endswith("unsupported-authentication")
    number = most_answered()
    page = server.read(f"tweets/{number}/liking_users", server.user)
    assert page["meta"]["result_count"] == len(page.get("data", [])) <= 100


def test_reposters_and_reposts_agree(server: Server) -> None:
    references = world().calendar.day(3).references
    targets = references.target[references.kind[references.start[:-1]] == REPOST].tolist()
    number = next(each for each in targets if world().post(each, MS) and world().is_open(author_of(each), MS))
    who = {user["id"] for user in server.read(f"tweets/{number}/retweeted_by")["data"]}
    posts = server.read(f"tweets/{number}/retweets", tweet__fields="author_id,referenced_tweets")["data"]
    assert who == {post["author_id"] for post in posts}
    assert {post["referenced_tweets"][0]["id"] for post in posts} == {str(number)}


def test_the_window_begins_with_its_first_call_and_users_are_counted_apart(server: Server) -> None:
    other = server.tokens.issue("user")
    replies = [server.get("users/5/list_memberships") for _ in range(76)]
    assert [reply.status for reply in replies] == [200] * 75 + [429]
    assert replies[-1].headers["x-rate-limit-remaining"] == "0"
    assert int(replies[0].headers["x-rate-limit-reset"]) == int((NOW + timedelta(minutes=15)).timestamp())
    assert server.get("users/5/list_memberships", other).headers["x-rate-limit-remaining"] == "74"
    assert server.get("users/5/list_memberships", at=NOW + timedelta(minutes=15)).status == 200


def test_tokens_of_one_app_share_its_window(server: Server) -> None:
    server.get("users/5")
    assert server.get("users/5", server.tokens.issue("app")).headers["x-rate-limit-remaining"] == "298"


@pytest.mark.parametrize("state", ["revoked", "expired", "disabled"])
def test_bad_tokens_are_refused(server: Server, state: str) -> None:
    server.tokens.mark(server.app.value, state)
    reply = server.get("users/5")
    assert reply.status == (403 if state == "disabled" else 401)
    assert reply.headers["content-type"] == "application/problem+json"
    assert server.dialect.handle(Request(path="/2/users/5"), NOW).status == 401


def test_a_users_keys_open_the_same_doors_as_his_bearer(server: Server) -> None:
    header = f'OAuth oauth_consumer_key="{server.user.consumer_key}", oauth_token="{server.user.value}", oauth_signature="x"'
    request = Request(path=f"/2/users/{key(popular())}", headers={"authorization": header})
    assert server.dialect.handle(request, NOW).status == 200
    wrong = Request(path="/2/users/5", headers={"authorization": header.replace("sim-consumer-app", "sim-consumer-x")})
    assert server.dialect.handle(wrong, NOW).status == 401


def test_the_monthly_cap_stops_posts_but_not_users_until_the_next_month() -> None:
    server = Server(budget=Budget(posts=15))
    path = f"users/{key(writer())}/tweets"
    ids = [post["id"] for post in server.read(path)["data"]]
    assert server.get(path, until_id=ids[-1]).status == 200
    reply = server.get(path)
    assert (reply.status, body(reply)["title"], body(reply)["period"]) == (429, "UsageCapExceeded", "Monthly")
    assert int(reply.headers["x-rate-limit-remaining"]) > 0
    assert server.get(f"users/{key(popular())}").status == 200
    assert server.get(path, at=datetime(2026, 2, 1, tzinfo=UTC)).status == 200


def test_what_was_returned_already_today_is_not_counted_again() -> None:
    server = Server(budget=Budget(credits=100))
    for _ in range(5):
        server.read(f"users/{key(popular())}")
    assert server.dialect.meter.spent("app", NOW) == 10
    server.get(f"users/{key(popular())}", at=NOW + timedelta(days=1))
    assert server.dialect.meter.spent("app", NOW) == 20
    server.read("users/5")
    assert server.dialect.meter.spent("app", NOW + timedelta(days=1)) == 20


def test_without_credits_every_read_is_402() -> None:
    server = Server(budget=Budget(credits=30))
    server.read("users", ids=",".join(map(key, open_accounts()[:3])))
    reply = server.get(f"users/{key(popular())}")
    assert (reply.status, body(reply)["title"]) == (402, "CreditsDepleted")
    assert server.get("usage/tweets").status == 200


def test_usage_tells_what_was_read(server: Server) -> None:
    before = server.read("usage/tweets")["data"]
    server.read(f"users/{key(writer())}/tweets")
    after = server.read("usage/tweets", days=3)["data"]
    assert (before["project_usage"], after["project_usage"], after["project_cap"]) == ("0", "10", "3000000")
    assert [day["usage"] for day in after["daily_project_usage"]["usage"]] == ["10", "0", "0"]


def test_trends_and_lists_are_there(server: Server) -> None:
    trends = server.read("trends/by/woeid/1", max_trends=5)["data"]
    assert len(trends) == 5
    assert all(each["trend_name"].startswith("#") and each["tweet_count"] > 0 for each in trends)
    assert server.get("trends/by/woeid/2").status == 400
    members = server.read("lists/900000/members")["data"]
    assert len(members) > 50
    assert server.read("lists/900000/tweets")["data"]
    assert error(server.read("lists/1/members")) == ("Not Found Error", "resource-not-found")
    owner = server.read("lists/900000", list__fields="owner_id")["data"]["owner_id"]
    assert server.read(f"users/{owner}/owned_lists")["data"] == [{"id": "900000", "name": "London"}]


def test_entities_lie_where_they_say(server: Server) -> None:
    page = server.read(f"users/{key(writer())}/tweets", max_results=100, tweet__fields="entities", exclude="retweets")
    tagged = [(post["text"], post.get("entities", {}).get("hashtags", [])) for post in page["data"]]
    places = [(text, tag, f"#{tag['tag']}") for text, tags in tagged for tag in tags]
    assert places
    assert all(text[tag["start"] : tag["end"]] == word for text, tag, word in places)


def test_an_edited_post_names_its_earlier_version(server: Server) -> None:
    posts = server.read(f"users/{key(writer())}/tweets", max_results=100, exclude="retweets")["data"]
    histories = [post["edit_history_tweet_ids"] for post in posts]
    assert all(history[-1] == post["id"] for history, post in zip(histories, posts, strict=True))
    assert {len(history) for history in histories} == {1, 2}
