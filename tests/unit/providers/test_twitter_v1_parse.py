"""Answers of the classic API as pages."""

from datetime import UTC, datetime

import pytest
from provider_payloads import answer, read, tweet, twitter, user

from bowerbird.model import Gone, Outcome, Page, PostKind, Reading, Relation, RelationKind, Subject
from bowerbird.providers.page import REPEATED


def page(facet: str, target: str, body: object, **headers: str) -> Page:
    return read(twitter, facet, target, answer(body, **headers))


def refused(facet: str, targets: tuple[str, ...], code: int, status: int) -> Page:
    return read(twitter, facet, targets, answer({"errors": [{"code": code, "message": "words"}]}, status))


def test_a_user_is_named_by_network_and_number() -> None:
    (found,) = page("profile", "783214", user()).users
    assert (found.id, found.key, found.handle) == ("x:783214", "783214", "alice783214")
    assert (found.description, found.url) == ("birds & trees", "https://alice.example/")
    assert (found.followers, found.following, found.posts) == (100, 140, 10829)
    assert found.created_at == datetime(2007, 2, 20, 14, 35, 54, tzinfo=UTC)


def test_a_profile_captures_the_newest_post_it_carries() -> None:
    newest = {key: value for key, value in tweet("9").items() if key != "user"}
    found = page("profile", "783214", user(status=newest))
    assert [(post.id, post.author) for post in found.posts] == [("x:9", "x:783214")]
    assert found.users[0].newest_post_at == datetime(2012, 11, 8, 2, 31, 41, tzinfo=UTC)
    assert found.results == 1


def test_a_retweet_within_a_profile_names_its_original_without_an_author() -> None:
    original = {"id_str": "5", "full_text": "Fish"}
    found = page("profile", "783214", user(status={"id_str": "9", "retweeted_status": original}))
    assert [(post.id, post.repost_of) for post in found.posts] == [("x:9", "x:5")]
    assert found.broken == ()


def test_an_id_that_is_no_number_is_quarantined_alone() -> None:
    found = page("followers", "1", {"ids": ["7", None, 1.5, True], "next_cursor_str": "0"})
    assert [edge.source for edge in found.relations] == ["7"]
    assert [broken.raw for broken in found.broken] == [b"null", b"1.5", b"true"]


def test_missing_targets_of_a_batch_are_gone_whether_asked_by_id_or_handle() -> None:
    found = read(twitter, "profiles", ("1", "@Alice2", "@bob"), answer([user("2")]))
    assert found.gone == (Gone(Subject.USER, "1", Outcome.NOT_FOUND, True), Gone(Subject.USER, "@bob", Outcome.NOT_FOUND, True))


def test_a_batch_of_which_nobody_exists_is_all_gone() -> None:
    found = refused("profiles", ("1", "2"), 17, 404)
    assert found.outcome is Outcome.NOT_FOUND
    assert [gone.key for gone in found.gone] == ["1", "2"]


def test_a_wrong_path_does_not_make_a_whole_batch_gone() -> None:
    found = refused("profiles", ("1", "2"), 34, 404)
    assert (found.outcome, found.gone) == (Outcome.BAD_REQUEST, ())


@pytest.mark.parametrize("facet", ["profile", "profiles", "posts"])
def test_a_wrong_path_does_not_make_a_single_object_gone(facet: str) -> None:
    """The object's own route has other codes for a missing object; a route that is missing has this one."""
    found = refused(facet, ("1",), 34, 404)
    assert (found.outcome, found.gone, found.perhaps) == (Outcome.UNREADABLE, (), Outcome.NOT_FOUND)


def test_follower_ids_are_relations_only_and_go_on_by_cursor() -> None:
    body = {"ids": ["7", "8"], "next_cursor": 55, "next_cursor_str": "55"}
    found = page("followers", "1", body)
    assert found.relations == (Relation(RelationKind.FOLLOW, "7", "1"), Relation(RelationKind.FOLLOW, "8", "1"))
    assert (found.users, found.cursor, found.results) == ((), "55", 2)
    assert page("following", "1", {"ids": [7], "next_cursor": 0}).relations == (Relation(RelationKind.FOLLOW, "1", "7"),)


def test_cursor_zero_ends_a_list_and_an_empty_page_does_not() -> None:
    assert page("followers", "1", {"ids": ["7"], "next_cursor_str": "0"}).cursor is None
    assert page("followers", "1", {"ids": [], "next_cursor_str": "55"}).cursor == "55"


def test_a_cursor_that_repeats_ends_the_listing_and_says_so() -> None:
    found = read(twitter, "followers", "1", answer({"ids": ["7"], "next_cursor_str": "55"}), cursor="55")
    assert found.cursor is None
    assert REPEATED in found.detail


def test_follower_objects_are_users_and_relations() -> None:
    found = page("followers_list", "1", {"users": [user("7"), {"id_str": "8", "screen_name": {}}], "next_cursor_str": "0"})
    assert [each.key for each in found.users] == ["7"]
    assert [edge.source for edge in found.relations] == ["7", "8"]
    assert len(found.broken) == 1


def test_a_tweet_becomes_a_post_with_everything_it_refers_to() -> None:
    body = tweet(
        in_reply_to_status_id_str="5",
        entities={
            "hashtags": [{"text": "Birds"}],
            "user_mentions": [{"id": 6, "id_str": "6"}, {"id": None, "id_str": None}],
            "urls": [{"url": "https://t.co/y", "expanded_url": "https://e.example/y"}],
        },
        extended_entities={
            "media": [
                {
                    "id_str": "77",
                    "type": "video",
                    "media_url_https": "https://p.example/t.jpg",
                    "video_info": {
                        "variants": [{"url": "https://v.example/lo", "bitrate": 1}, {"url": "https://v.example/hi", "bitrate": 9}]
                    },
                }
            ]
        },
        coordinates={"type": "Point", "coordinates": [-9.1, 38.7]},
        place={"full_name": "Lisbon, Portugal", "country_code": "PT"},
    )
    (post,) = page("post", "1000", body).posts
    assert (post.id, post.key, post.author, post.kind) == ("x:1000", "1000", "x:783214", PostKind.REPLY)
    assert (post.text, post.source, post.reply_to) == ("Fish & chips", "Twitter Web Client", "x:5")
    assert (post.tags, post.mentions, post.links) == (("Birds",), ("6",), ("https://e.example/y",))
    assert [(media.id, media.url) for media in post.media] == [("x:77", "https://v.example/hi")]
    assert post.place is not None
    assert (post.place.name, post.place.country, post.place.longitude, post.place.latitude) == (
        "Lisbon, Portugal",
        "PT",
        -9.1,
        38.7,
    )
    assert (post.reposts, post.likes) == (238, 3)


def test_the_old_geo_field_gives_latitude_first() -> None:
    place = page("post", "1000", tweet(geo={"coordinates": [38.7, -9.1]})).posts[0].place
    assert place is not None
    assert (place.longitude, place.latitude) == (-9.1, 38.7)


def test_the_extended_tweet_of_streams_has_the_full_text() -> None:
    body = tweet(full_text=None, text="Fi…", extended_tweet={"full_text": "Fish", "entities": {"hashtags": [{"text": "a"}]}})
    (post,) = page("post", "1000", body).posts
    assert (post.text, post.tags) == ("Fish", ("a",))


def test_a_retweet_is_a_repost_and_its_original_with_both_authors() -> None:
    found = page("timeline", "783214", [tweet("1001", retweeted_status=tweet("5", user=user("2")))])
    first, second = found.posts
    assert (first.id, first.author, first.kind) == ("x:5", "x:2", PostKind.POST)
    assert (second.id, second.kind, second.repost_of, second.text) == ("x:1001", PostKind.REPOST, "x:5", None)
    assert {each.key for each in found.users} == {"2", "783214"}


def test_a_quote_keeps_the_quoted_post_too() -> None:
    found = page("post", "1000", tweet(quoted_status_id_str="5", quoted_status=tweet("5", user=user("2"))))
    assert {post.key: post.quote_of for post in found.posts} == {"5": None, "1000": "x:5"}


def test_posts_of_protected_accounts_are_never_kept() -> None:
    hidden = tweet("1000", user=user(protected=True))
    assert page("timeline", "783214", [hidden]).posts == ()
    assert read(twitter, "posts", ("1000",), answer([hidden])).gone == (Gone(Subject.POST, "1000", Outcome.PROTECTED),)


def test_a_timeline_goes_on_below_its_oldest_post_until_an_empty_page() -> None:
    found = page("timeline", "783214", [tweet("1002"), tweet("1000")])
    assert (found.cursor, found.head) == ("999/2", "1002")
    assert read(twitter, "timeline", "783214", answer([]), cursor="999/2").cursor is None


def test_a_short_page_that_completes_the_authors_own_counter_ends_the_timeline() -> None:
    assert page("timeline", "783214", [tweet("1000", user=user(statuses_count=1))]).cursor is None
    assert page("timeline", "783214", [tweet("1000", user=user(statuses_count=2))]).cursor == "999/1"


def test_the_reach_cap_ends_the_timeline() -> None:
    full = [tweet(str(5000 - number)) for number in range(200)]
    assert read(twitter, "timeline", "783214", answer(full), cursor="6000/3000").cursor is None
    assert read(twitter, "timeline", "783214", answer(full), cursor="6000/2800").cursor == "4800/3000"


def test_a_revisit_ends_at_the_known_post_and_does_not_keep_it_again() -> None:
    found = read(twitter, "timeline", "783214", answer([tweet("1002"), tweet("1000")]), newest="1000")
    assert [post.key for post in found.posts] == ["1002"]
    assert (found.cursor, found.head) == (None, "1002")


def test_a_page_that_does_not_go_down_ends_the_timeline() -> None:
    found = read(twitter, "timeline", "783214", answer([tweet("1002")]), cursor="1001/200")
    assert found.cursor is None
    assert REPEATED in found.detail


def test_search_goes_on_while_the_service_offers_next_results() -> None:
    more = {"statuses": [tweet("1000")], "search_metadata": {"next_results": "?max_id=999&q=x"}}
    last = {"statuses": [tweet("1000")], "search_metadata": {"count": 100}}
    assert page("search", "x", more).cursor == "999/1"
    assert page("search", "x", last).cursor is None
    assert page("search", "x", last).head == "1000"


def test_people_are_paged_up_to_the_thousandth() -> None:
    full = [user(str(number)) for number in range(1, 21)]
    assert page("people", "x", full).cursor == "2"
    assert read(twitter, "people", "x", answer(full), cursor="50").cursor is None


def test_limits_are_read_from_the_headers() -> None:
    headers = {"x_rate_limit_limit": "900", "x_rate_limit_remaining": "0", "x_rate_limit_reset": "1767614400"}
    found = page("profile", "1", user(), **headers)
    assert found.reading == Reading(900, 0, datetime(2026, 1, 5, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("code", "status", "outcome"),
    [
        (88, 429, Outcome.RATE_LIMITED),
        (50, 404, Outcome.NOT_FOUND),
        (17, 404, Outcome.NOT_FOUND),
        (34, 404, Outcome.NOT_FOUND),
        (144, 404, Outcome.NOT_FOUND),
        (421, 404, Outcome.NOT_FOUND),
        (63, 403, Outcome.SUSPENDED),
        (179, 403, Outcome.PROTECTED),
        (136, 403, Outcome.BLOCKED),
        (89, 401, Outcome.BAD_TOKEN),
        (32, 401, Outcome.BAD_TOKEN),
        (135, 401, Outcome.BAD_TOKEN),
        (215, 400, Outcome.BAD_TOKEN),
        (64, 403, Outcome.BAD_TOKEN),
        (326, 403, Outcome.BAD_TOKEN),
        (220, 403, Outcome.FORBIDDEN_SCOPE),
        (453, 403, Outcome.FORBIDDEN_SCOPE),
        (251, 410, Outcome.NOT_OFFERED),
        (130, 503, Outcome.OVERLOADED),
        (131, 500, Outcome.OVERLOADED),
    ],
)
def test_errors_are_normalised(code: int, status: int, outcome: Outcome) -> None:
    found = refused("timeline", ("1",), code, status)
    assert found.outcome is outcome
    assert [gone.reason for gone in found.gone] == ([outcome] if outcome.is_about_target else [])


def test_a_protected_timeline_answers_without_an_error_list() -> None:
    body = {"request": "/1.1/statuses/user_timeline.json", "error": "Not authorized."}
    found = read(twitter, "timeline", "1", answer(body, 401))
    assert found.outcome is Outcome.PROTECTED
    assert found.gone == (Gone(Subject.USER, "1", Outcome.PROTECTED),)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(420, Outcome.RATE_LIMITED), (502, Outcome.OVERLOADED), (404, Outcome.UNREADABLE), (401, Outcome.UNREADABLE)],
)
def test_pages_of_proxies_are_judged_by_their_status(status: int, outcome: Outcome) -> None:
    found = read(twitter, "timeline", "1", answer(b"<html>no</html>", status))
    assert (found.outcome, found.gone) == (outcome, ())


@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[1", b'"x"', b"7", b'{"error":"odd"}', b"[" * 50_000])
@pytest.mark.parametrize("facet", sorted(twitter.facets))
def test_a_body_of_the_wrong_kind_is_unreadable(facet: str, body: bytes) -> None:
    found = read(twitter, facet, "1", answer(body))
    assert found.outcome is Outcome.UNREADABLE
    assert found.detail
