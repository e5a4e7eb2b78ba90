"""Mastodon answers as pages."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from provider_payloads import MASTODON, NOON, account, answer, mastodon, read, status

from bowerbird.model import Answer, Ask, Gone, Outcome, Page, PostKind, Reading, Relation, RelationKind, Signal, Subject
from bowerbird.providers.page import REPEATED

LINK = '<https://m.example/x?limit=80&max_id={}>; rel="next", <https://m.example/x?since_id=1>; rel="prev"'


def page(facet: str, target: str, body: object, **headers: str) -> Page:
    return read(mastodon, facet, target, answer(body, **headers))


def test_an_account_becomes_a_user_under_its_activitypub_address() -> None:
    (user,) = page("profile", "1", account()).users
    assert (user.id, user.key, user.handle) == ("https://m.example/users/user1", "1", "user1@m.example")
    assert user.description == "I like birds"
    assert (user.followers, user.following, user.posts) == (10, 20, 30)
    assert user.newest_post_at == datetime(2019, 12, 10, tzinfo=UTC)
    assert user.opts_out is False
    assert b'"display_name": "User 1"' in user.raw


@pytest.mark.parametrize(
    "signal",
    [
        {"noindex": True},
        {"indexable": False},
        {"note": "<p>please <a>#<span>NoBot</span></a></p>"},
        {"fields": [{"name": "bots", "value": "#noarchive"}]},
    ],
)
def test_every_documented_signal_opts_out(signal: dict[str, object]) -> None:
    assert page("profile", "1", account(**signal)).users[0].opts_out is True


def test_an_account_says_by_which_signs_it_opts_out() -> None:
    shy = account(noindex=True, indexable=False, discoverable=False, note="#nobot")
    (user,) = page("profile", "1", shy).users
    assert user.signals == (Signal.NOINDEX, Signal.INDEXABLE, Signal.NOBOT, Signal.DISCOVERABLE)


def test_who_does_not_wish_to_be_recommended_does_not_opt_out_by_that_alone() -> None:
    (user,) = page("profile", "1", account(discoverable=False)).users
    assert (user.opts_out, user.signals) == (False, (Signal.DISCOVERABLE,))
    assert page("profile", "1", account(discoverable=None)).users[0].signals == ()


def test_a_word_that_only_begins_like_a_signal_does_not_opt_out() -> None:
    assert page("profile", "1", account(note="#nobottles")).users[0].opts_out is False


def test_missing_targets_of_a_batch_are_gone() -> None:
    found = read(mastodon, "profiles", ("1", "2"), answer([account("2")]))
    assert [user.key for user in found.users] == ["2"]
    assert found.gone == (Gone(Subject.USER, "1", Outcome.NOT_FOUND, True),)
    assert found.outcome is Outcome.OK


def test_a_batch_of_which_nothing_is_listed_is_gone_when_that_was_said_three_times() -> None:
    asked = [mastodon.parse(Ask("posts", ("1", "2"), looks=looks), answer([]), MASTODON) for looks in range(3)]
    assert [(page.outcome, page.is_doubtful, len(page.gone)) for page in asked] == [
        (Outcome.OK, True, 0),
        (Outcome.OK, True, 0),
        (Outcome.OK, False, 2),
    ]
    assert re.findall(r"\d+", asked[0].detail) == ["2"]
    alone = mastodon.parse(Ask("posts", ("1",)), answer([]), MASTODON)
    assert (alone.is_doubtful, len(alone.gone)) == (False, 1)


def test_a_malformed_item_is_quarantined_alone_and_its_target_is_not_called_gone() -> None:
    found = read(mastodon, "profiles", ("1", "2"), answer([account("1", acct=["no"]), account("2")]))
    assert [user.key for user in found.users] == ["2"]
    assert [broken.subject for broken in found.broken] == [Subject.USER]
    assert found.gone == ()


def test_nothing_is_called_gone_when_an_item_cannot_even_be_identified() -> None:
    found = read(mastodon, "profiles", ("1", "2"), answer([None, account("2")]))
    assert (len(found.broken), found.gone, found.results) == (1, (), 2)


@pytest.mark.parametrize(
    ("url", "uri", "known"),
    [
        ("https://g.example/@bob", "https://g.example/users/bob/statuses/01J", "https://g.example/users/bob"),
        ("https://g.example/@Bob", "https://g.example/users/bob/statuses/01J/activity", "https://g.example/users/bob"),
        ("https://t.example/@bob/", "https://t.example/@bob@t.example/posts/1/", "https://t.example/@bob@t.example/"),
        ("https://p.example/@bob", "https://p.example/objects/5f", "https://p.example/@bob"),
        ("https://g.example/@bob", "https://evil.example/users/bob/statuses/1", "https://g.example/@bob"),
        ("https://g.example/@bob", "https://g.example/users/eve/statuses/1", "https://g.example/@bob"),
    ],
)
def test_an_account_without_its_id_has_it_from_a_post_of_its_own(url: str, uri: str, known: str) -> None:
    written = account(url=url, acct=url.rstrip("/").rpartition("@")[2]) | {"uri": None}
    found = page("post", "7", status(id="7", uri=uri, account=written))
    assert ([user.id for user in found.users], [post.author for post in found.posts]) == ([known], [known])
    alone = page("profile", "1", written)
    assert [user.id for user in alone.users] == [url]


def test_pleroma_tells_the_id_in_a_place_of_its_own() -> None:
    written = account(url="https://m.example/@bob", pleroma={"ap_id": "https://m.example/users/bob"}) | {"uri": None}
    assert [user.id for user in page("profile", "1", written).users] == ["https://m.example/users/bob"]
    odd = account(url="https://m.example/@bob", pleroma=[1]) | {"uri": None}
    assert [user.id for user in page("profile", "1", odd).users] == ["https://m.example/@bob"]


def test_account_with_an_invalid_pleroma_id_is_quarantined() -> None:
    """The profile address must not stand for it: it would be a second id of the same account."""
    profile = account(uri=None, pleroma={"ap_id": "x"})
    found = page("followers", "9", [profile])
    assert found.users == ()
    assert len(found.broken) == 1


def test_a_suspended_account_is_gone_and_mapped_without_content() -> None:
    found = page("profile", "1", account(suspended=True, note="<p>old</p>"))
    assert found.outcome is Outcome.SUSPENDED
    assert found.gone == (Gone(Subject.USER, "1", Outcome.SUSPENDED, is_stated=True),)
    assert found.users[0].description is None


def test_followers_are_users_and_relations_and_go_on_by_the_link_header() -> None:
    found = page("followers", "9", [account("1"), account("2")], link=LINK.format(7163058))
    assert found.relations == (Relation(RelationKind.FOLLOW, "1", "9"), Relation(RelationKind.FOLLOW, "2", "9"))
    assert found.cursor == "7163058"
    assert page("followers", "9", [account("1")]).cursor is None


def test_following_points_the_other_way() -> None:
    assert page("following", "9", [account("1")]).relations == (Relation(RelationKind.FOLLOW, "9", "1"),)


def test_a_follower_that_cannot_be_mapped_still_follows() -> None:
    found = page("followers", "9", [account("1", acct=None)])
    assert found.relations == (Relation(RelationKind.FOLLOW, "1", "9"),)
    assert found.users == ()


def test_a_cursor_that_repeats_ends_the_listing_and_says_so() -> None:
    found = read(mastodon, "followers", "9", answer([account("1")], link=LINK.format(5)), cursor="5")
    assert found.cursor is None
    assert REPEATED in found.detail


def test_an_empty_page_without_a_link_ends_the_listing() -> None:
    assert page("followers", "9", []).cursor is None
    assert page("timeline", "9", []).cursor is None


def test_a_status_becomes_a_post_with_its_author() -> None:
    body = status(
        content='<p>Look <a href="https://e.example/x">e.example/x</a></p>',
        spoiler_text="birds",
        mentions=[{"id": "14715", "acct": "b"}],
        tags=[{"name": "Piano"}, {"name": "piano"}],
        media_attachments=[
            {"id": "3", "type": "image", "url": "https://m.example/i.png", "remote_url": None, "description": "a bird"}
        ],
    )
    found = page("post", "100", body)
    (post,) = found.posts
    assert post.id == "https://m.example/users/user1/statuses/100"
    assert (post.key, post.author, post.kind) == ("100", "https://m.example/users/user1", PostKind.POST)
    assert (post.text, post.links, post.warning, post.source) == ("Look e.example/x", ("https://e.example/x",), "birds", "Web")
    assert (post.mentions, post.tags) == (("14715",), ("Piano",))
    assert [(media.id, media.description) for media in post.media] == [("https://m.example/i.png", "a bird")]
    assert (post.replies, post.reposts, post.likes) == (5, 6, 11)
    assert post.created_at == datetime(2019, 12, 8, 3, 48, 33, 901000, tzinfo=UTC)
    assert [user.id for user in found.users] == [post.author]


def test_a_boost_is_a_repost_and_its_original_with_both_authors() -> None:
    original = status("50", account=account("2"), uri="https://o.example/s/50")
    found = page("timeline", "1", [status("100", content="", reblog=original)])
    first, second = found.posts
    assert (first.id, first.kind) == ("https://o.example/s/50", PostKind.POST)
    assert (second.kind, second.repost_of, second.text) == (PostKind.REPOST, "https://o.example/s/50", None)
    assert {user.key for user in found.users} == {"1", "2"}
    assert found.results == 1


@pytest.mark.parametrize("visibility", ["private", "direct", "mutuals_only"])
def test_what_is_not_public_is_never_kept(visibility: str) -> None:
    hidden = status("100", visibility=visibility)
    found = page("timeline", "1", [hidden, status("101", reblog=hidden)])
    assert (found.posts, found.broken, found.results) == ((), (), 2)
    asked = page("post", "100", hidden)
    assert (asked.outcome, asked.posts) == (Outcome.PROTECTED, ())


@pytest.mark.parametrize("visibility", ["private", "direct"])
def test_private_status_without_id_is_not_quarantined(visibility: str) -> None:
    found = page("timeline", "1", [status("", visibility=visibility), status("7")])
    assert [post.key for post in found.posts] == ["7"]
    assert found.broken == ()


def test_private_quoted_status_without_id_is_neither_stored_nor_quarantined() -> None:
    quoting = status("7", quote={"quoted_status": status("", visibility="private", content="secret")})
    found = page("timeline", "1", [quoting])
    assert [post.key for post in found.posts] == ["7"]
    assert found.broken == ()
    assert b"secret" not in found.posts[0].raw


def test_public_status_without_id_is_quarantined() -> None:
    found = page("timeline", "1", [status(""), status("7")])
    assert [post.key for post in found.posts] == ["7"]
    assert len(found.broken) == 1


def test_a_reply_names_its_parent_by_address_when_the_page_tells_it() -> None:
    thread = {"ancestors": [status("1")], "descendants": [status("3", in_reply_to_id="1"), status("4", in_reply_to_id="77")]}
    posts = {post.key: post for post in page("thread", "2", thread).posts}
    assert posts["3"].reply_to == posts["1"].id
    assert posts["3"].kind is PostKind.REPLY
    assert posts["4"].reply_to == "mastodon:m/77"


def test_a_quote_is_read_in_both_forms() -> None:
    quoted = status("50")
    new = page("post", "100", status("100", quote={"state": "accepted", "quoted_status": quoted}))
    old = page("post", "100", status("100", quote=quoted))
    shallow = page("post", "100", status("100", quote={"state": "accepted", "quoted_status_id": "50"}))
    revoked = page("post", "100", status("100", quote={"state": "revoked", "quoted_status": None}))
    for found in (new, old):
        assert {post.key: post.kind for post in found.posts} == {"50": PostKind.POST, "100": PostKind.QUOTE}
    assert shallow.posts[0].quote_of == "mastodon:m/50"
    assert revoked.posts[0].kind is PostKind.POST


def test_a_malformed_quoted_status_does_not_cost_the_post() -> None:
    found = page("post", "100", status("100", quote={"state": "accepted", "quoted_status": {"id": "5"}}))
    assert [post.key for post in found.posts] == ["100"]
    assert len(found.broken) == 1


def test_the_first_page_names_the_newest_post_and_the_next_position() -> None:
    found = page("timeline", "1", [status("102"), status("99")], link=LINK.format(99))
    assert (found.head, found.cursor) == ("102", "99")


def test_a_revisit_stops_where_known_posts_begin_and_keeps_only_the_new() -> None:
    found = read(mastodon, "timeline", "1", answer([status("102"), status("99")], link=LINK.format(99)), newest="99")
    assert [post.key for post in found.posts] == ["102"]
    assert (found.cursor, found.head, found.results) == (None, "102", 2)


def test_a_revisit_goes_on_while_everything_is_new() -> None:
    found = read(mastodon, "timeline", "1", answer([status("102"), status("99")], link=LINK.format(99)), newest="50")
    assert found.cursor == "99"


def test_a_full_page_without_any_link_header_goes_on_below_its_oldest_post() -> None:
    full = [status(str(200 - number)) for number in range(40)]
    assert page("timeline", "1", full).cursor == "161"
    assert page("timeline", "1", full[:39]).cursor is None


def test_positions_that_do_not_go_down_end_a_timeline() -> None:
    found = read(mastodon, "timeline", "1", answer([status("102")], link=LINK.format(120)), cursor="110")
    assert found.cursor is None
    assert REPEATED in found.detail


def test_a_quarantined_newest_post_still_counts_as_the_head() -> None:
    found = page("timeline", "1", [status("103", account=None), status("102")])
    assert found.head == "103"
    assert [post.key for post in found.posts] == ["102"]


def test_search_and_people_go_on_by_offset_until_a_short_page() -> None:
    full = {"statuses": [status(str(number)) for number in range(100, 140)], "accounts": [], "hashtags": []}
    assert read(mastodon, "search", "x", answer(full), cursor="40").cursor == "80"
    assert page("people", "x", {"accounts": [account()], "statuses": []}).cursor is None


@pytest.mark.parametrize(
    ("facet", "body"),
    [
        ("search", {"accounts": "x", "statuses": [status("1")], "hashtags": 0}),
        ("people", {"accounts": [account("1")], "statuses": 0, "hashtags": []}),
    ],
)
def test_search_ignores_malformed_lists_of_other_kinds(facet: str, body: dict[str, object]) -> None:
    found = page(facet, "birds", body)
    assert (found.outcome, found.results) == (Outcome.OK, 1)
    assert [user.key for user in found.users] == ["1"]


def test_limits_are_read_from_the_headers() -> None:
    headers = {"x_ratelimit_limit": "300", "x_ratelimit_remaining": "12", "x_ratelimit_reset": "2026-01-05T12:00:00.0Z"}
    assert page("profile", "1", account(), **headers).reading == Reading(300, 12, NOON)


@pytest.mark.parametrize(
    ("code", "words", "outcome"),
    [
        (429, "Too many requests", Outcome.RATE_LIMITED),
        (404, "Record not found", Outcome.NOT_FOUND),
        (410, "Gone", Outcome.SUSPENDED),
        (401, "The access token is invalid", Outcome.BAD_TOKEN),
        (403, "This action is outside the authorized scopes", Outcome.FORBIDDEN_SCOPE),
        (422, "This method requires an authenticated user", Outcome.FORBIDDEN_SCOPE),
        (422, "Mastodon::ValidationError", Outcome.BAD_REQUEST),
        (400, "Pagination values must be positive", Outcome.BAD_REQUEST),
        (418, "I'm a teapot: no user-agent sent with request", Outcome.BAD_REQUEST),
        (503, "There was a temporary problem", Outcome.OVERLOADED),
    ],
)
def test_errors_are_normalised(code: int, words: str, outcome: Outcome) -> None:
    found = read(mastodon, "timeline", "1", answer({"error": words}, code))
    assert found.outcome is outcome
    assert words in found.detail
    assert [gone.reason for gone in found.gone] == ([outcome] if outcome.is_about_target else [])


def test_the_waiting_time_of_a_refusal_is_read() -> None:
    assert read(mastodon, "timeline", "1", answer({"error": "x"}, 503, retry_after="7")).retry_after == timedelta(seconds=7)


def test_a_proxys_404_page_is_not_believed() -> None:
    found = read(mastodon, "profile", "1", answer(b"<html>404</html>", 404))
    assert (found.outcome, found.gone) == (Outcome.UNREADABLE, ())


def test_an_unanswered_call_says_why() -> None:
    lost = Answer(status=0, sent_at=NOON, received_at=NOON, failure="silent for 30 s")
    found = read(mastodon, "profile", "1", lost)
    assert (found.outcome, found.detail, found.gone) == (Outcome.UNANSWERED, "silent for 30 s", ())


@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[1", b'"x"', b"7", b'{"error":"odd"}', b"[" * 50_000])
@pytest.mark.parametrize("facet", sorted(mastodon.facets))
def test_a_body_of_the_wrong_kind_is_unreadable(facet: str, body: bytes) -> None:
    found = read(mastodon, facet, "1", answer(body))
    assert found.outcome is Outcome.UNREADABLE
    assert found.detail


def test_a_hashtag_that_is_not_found_is_no_gone_account() -> None:
    assert read(mastodon, "hashtag", "x", answer({"error": "no"}, 404)).gone == ()
