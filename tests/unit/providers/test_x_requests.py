"""Asks as requests to the X API v2, and their signatures."""

from datetime import UTC, datetime, timedelta

import pytest
from x_payloads import x

from bowerbird.errors import CredentialError, UserError
from bowerbird.model import Ask, Progress, Request, Secret, WindowKind
from bowerbird.providers import XV2, with_limits
from bowerbird.providers.limit_overrides import thrifty
from failures import raises_code

NOW = datetime(2020, 1, 5, tzinfo=UTC)
RECENT = "1212092628029698048"


def built(facet: str, *targets: str, hints: dict[str, str] | None = None, **progress: str) -> tuple[str, dict[str, str]]:
    request = XV2(now=lambda: NOW).request(Ask(facet, targets, Progress(**progress), hints or {}))
    return request.path, dict(request.query)


def test_profiles_and_posts_are_asked_for_by_the_hundred() -> None:
    assert built("profiles", "1", "2")[0] == "/2/users"
    assert built("profiles", "1", "2")[1]["ids"] == "1,2"
    assert built("posts", "1", "2")[1]["ids"] == "1,2"
    assert [x.facets[name].objects_per_call for name in ("profiles", "handles", "posts")] == [100, 100, 100]


def test_a_profile_is_asked_for_by_id_or_by_handle() -> None:
    assert built("profile", "12")[0] == "/2/users/12"
    assert built("profile", "@alice")[0] == "/2/users/by/username/alice"
    assert built("handles", "@alice", "@bob")[1]["usernames"] == "alice,bob"


def test_posts_come_with_everything_that_is_mapped() -> None:
    query = built("timeline", "1")[1]
    assert {"author_id", "referenced_tweets", "note_tweet", "geo"} <= set(query["tweet.fields"].split(","))
    assert "referenced_tweets.id.author_id" in query["expansions"].split(",")
    assert "protected" in query["user.fields"].split(",")
    assert "tweet.fields" not in built("followers", "1")[1]


def test_the_new_spelling_is_asked_for_where_a_crawl_says_so() -> None:
    query = built("search", "cats", hints={"spelling": "post"})[1]
    assert "tweet" not in " ".join((*query, *query.values()))
    assert "referenced_posts" in query["post.fields"].split(",")
    assert "referenced_posts" in query["expansions"].split(",")
    assert "spelling" not in query


def test_lists_go_on_by_token_and_searches_by_another_name_for_it() -> None:
    assert built("followers", "1", cursor="KFQ7D80IT44HGZZZ")[1]["pagination_token"] == "KFQ7D80IT44HGZZZ"
    assert built("search", "cats", cursor="b26v89c19zqg8o3f")[1]["next_token"] == "b26v89c19zqg8o3f"


def test_a_revisit_asks_only_above_the_newest_known_post_because_every_post_is_paid_for() -> None:
    assert built("timeline", "1", newest="1000")[1]["since_id"] == "1000"
    assert "since_id" not in built("timeline", "1")[1]
    assert "since_id" not in built("list_timeline", "1", newest="1000")[1]


def test_a_recent_search_never_names_a_post_older_than_its_window() -> None:
    assert built("search", "cats", newest=RECENT)[1]["since_id"] == RECENT
    assert "since_id" not in built("search", "cats", newest="1000")[1]
    week_later = XV2(now=lambda: NOW + timedelta(days=7))
    assert "since_id" not in dict(week_later.request(Ask("hashtag", ("cats",), Progress(newest=RECENT))).query)
    assert built("search_all", "cats", newest="1000")[1]["since_id"] == "1000"


def test_a_thread_is_a_search_for_its_conversation_and_a_hashtag_one_for_its_tag() -> None:
    assert built("thread", "12")[1]["query"] == "conversation_id:12"
    assert built("hashtag", "birds")[1]["query"] == "#birds"


def test_pages_are_never_smaller_than_the_endpoint_allows() -> None:
    assert built("search", "cats", hints={"limit": "3"})[1]["max_results"] == "10"
    assert built("timeline", "1", hints={"limit": "3", "exclude": "replies", "password": "x"})[1]["max_results"] == "5"
    assert built("followers", "1", hints={"limit": "3"})[1]["max_results"] == "3"
    assert built("search_all", "cats")[1]["max_results"] == "500"


def test_trends_and_usage_have_parameters_of_their_own() -> None:
    assert built("trends", "1") == (
        "/2/trends/by/woeid/1",
        {"max_trends": "50", "trend.fields": "trend_name,tweet_count"},
    )
    assert built("usage", "all", hints={"days": "30"}) == ("/2/usage/tweets", {"days": "30"})


def test_a_target_never_leads_to_another_path() -> None:
    assert built("timeline", "../../1.1/x")[0] == "/2/users/..%2F..%2F1.1%2Fx/tweets"


def test_only_requests_with_a_position_are_paged() -> None:
    assert not x.is_paged(Ask("timeline", ("1",)))
    assert x.is_paged(Ask("timeline", ("1",), Progress(cursor="b26v89c19zqg8o3f")))


@pytest.mark.parametrize(
    ("facet", "text", "target"),
    [
        ("profile", "12", "12"),
        ("profiles", "x:12", "12"),
        ("profile", "@alice", "@alice"),
        ("handles", "alice", "@alice"),
        ("handles", "https://x.com/alice", "@alice"),
        ("timeline", "12", "12"),
        ("post", "https://x.com/alice/status/123?s=20", "123"),
        ("thread", "x:123", "123"),
        ("hashtag", "#Birds", "birds"),
        ("search", "a OR b", "a OR b"),
        ("people", "alice o'neill", "alice o'neill"),
        ("members", "https://x.com/i/lists/84839422", "84839422"),
        ("trends", "1", "1"),
        ("usage", "all", "all"),
    ],
)
def test_people_may_write_ids_handles_addresses_and_words(facet: str, text: str, target: str) -> None:
    assert x.target(text, x.facets[facet]) == target


@pytest.mark.parametrize(
    ("facet", "text", "named"),
    [
        ("profile", "not a handle", "handle' @alice"),
        ("profiles", "@alice", "'@alice' `profile`"),
        ("timeline", "@alice", "'@alice' `profile`"),
        ("post", "https://elsewhere.example/alice/status/1", "status/1' x:123"),
        ("hashtag", "#", "'#'"),
        ("search", "x" * 513, "512"),
        ("search_all", "x" * 1025, "1024"),
        ("people", "ålice", "'ålice' 50"),
        ("members", "alice/birds", "'alice/birds' https://x.com/i/lists/123"),
        ("trends", "Porto", "'Porto' WOEID"),
    ],
)
def test_what_cannot_be_a_target_is_refused_with_advice(facet: str, text: str, named: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        x.target(text, x.facets[facet])
    assert facet in caught.value.problem
    assert all(value in str(caught.value) for value in named.split())


def test_a_request_is_signed_with_what_the_secret_holds() -> None:
    clocked = XV2(now=lambda: NOW, nonce=lambda: "once")
    request = clocked.request(Ask("profile", ("1",)))

    def header(**values: str) -> str:
        return clocked.sign(request, Secret(name="s", values=values)).headers["authorization"]

    assert header(bearer_token="app") == "Bearer app"
    assert header(access_token="of-a-user") == "Bearer of-a-user"
    keys = {"consumer_key": "a", "consumer_secret": "b", "access_token": "c", "access_token_secret": "d"}
    assert header(**keys).startswith('OAuth oauth_consumer_key="a", oauth_nonce="once"')


@pytest.mark.parametrize("values", [{}, {"access_token": "t", "access_token_secret": "s"}])
def test_an_incomplete_secret_says_what_is_missing(values: dict[str, str]) -> None:
    with raises_code(CredentialError, "invalid_credential") as caught:
        x.sign(Request(path="/"), Secret(name="u", values=values))
    assert "consumer_key, consumer_secret" in caught.value.problem


def test_users_and_applications_have_tables_of_their_own() -> None:
    user, app = x.facets_for("user"), x.facets_for("app")
    assert (user["timeline"].limits[0].allowance, app["timeline"].limits[0].allowance) == (900, 10_000)
    assert app["timeline"].limits[0].bucket == "{service}/app:{app}/{facet}"
    assert set(app) - set(user) == {"search_all", "trends", "volumes", "usage"}
    assert set(user) - set(app) == {"likes", "liked", "people"}
    assert set(x.facets) == set(user) | set(app)


def test_the_archive_may_be_asked_once_a_second() -> None:
    second = x.facets_for("app")["search_all"].limits[1]
    assert (second.allowance, second.window, second.kind) == (1, timedelta(seconds=1), WindowKind.FIRST_CALL)


def test_searches_hashtags_and_threads_take_from_one_bucket() -> None:
    assert len({x.facets[name].limits[0].bucket for name in ("search", "hashtag", "thread")}) == 1


def test_posts_have_a_monthly_cap_and_everything_has_a_price() -> None:
    cap, money = x.facets["timeline"].limits[1:]
    assert (cap.kind, cap.allowance, cap.per_call, cap.per_result) == (WindowKind.MONTH, 3_000_000, 0, 1)
    assert (money.kind, money.per_call, money.per_result) == (WindowKind.MONTH, 0, 5)
    assert [x.facets[name].limits[-1].per_result for name in ("followers", "profiles", "likes")] == [10, 10, 1]
    assert x.facets["trends"].limits[-1].per_call == 10


def test_a_crawl_lowers_the_months_posts_for_all_facets_at_once() -> None:
    made = with_limits(XV2(), {"*": {"posts": {"allowance": 15_000}}})
    assert {made.facets[name].limits[1].allowance for name in ("search", "timeline", "hashtag")} == {15_000}


def test_a_budget_is_told_in_dollars_and_not_as_a_limit() -> None:
    with raises_code(UserError, "invalid") as caught:
        with_limits(XV2(), {"*": {"money": {"allowance": 200_000}}})
    assert "dollars = 10" in str(caught.value)
    assert "[service]" in str(caught.value)


def test_nothing_may_cost_more_than_ten_dollars_a_month_unless_somebody_says_so() -> None:
    purses = [limit for table in x.tables.values() for facet in table.values() for limit in facet.limits if limit.is_money]
    assert {(limit.bucket, limit.allowance) for limit in purses} == {("{service}/money", 10_000)}


def test_pages_and_batches_become_so_small_that_a_call_costs_what_it_may() -> None:
    made = thrifty(x, 500)
    sizes = {name: made.facets[name].results_per_call for name in ("followers", "search", "likes", "trends")}
    assert sizes == {"followers": 50, "search": 100, "likes": 100, "trends": 50}
    assert (made.facets["profiles"].objects_per_call, made.facets["posts"].objects_per_call) == (50, 100)


def test_no_page_is_smaller_than_the_network_has_them() -> None:
    made = thrifty(x, 1)
    assert [made.facets[name].results_per_call for name in ("search", "timeline", "followers")] == [10, 5, 1]
    assert dict(made.request(Ask("search", ("cats",))).query)["max_results"] == "10"
