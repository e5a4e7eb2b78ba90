"""Bluesky's answers as pages: profiles, posts, paging, outcomes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bluesky_payloads import ALICE, BOB, CAROL, actor, bluesky_list, detailed, post_uri, quoted, read, record, ref, repost, view
from provider_payloads import answer

from bowerbird.model import Gone, Media, Outcome, PostKind, RelationKind, Signal, Subject, post_address
from bowerbird.providers.page import REPEATED

RECORDED = Path(__file__).parents[4] / "shared" / "data" / "recordings-jetstream" / "golden_v1.jsonl"
NEVER_SEEN = f"did:plc:{'z' * 24}"


def feed(*items: dict[str, Any], cursor: str | None = "2026-05-25T14:20:00Z") -> dict[str, Any]:
    return {"feed": list(items)} | ({"cursor": cursor} if cursor else {})


def at(seconds: int, rkey: str) -> dict[str, Any]:
    """A post listed so many seconds after noon."""
    when = f"2026-05-25T12:{seconds // 60:02d}:{seconds % 60:02d}.000Z"
    return view(post_uri(ALICE, rkey), record=record(createdAt=when), indexedAt=when)


def test_a_profile_is_known_by_its_did_and_never_by_its_handle() -> None:
    page = read("profile", ALICE, answer(detailed(website="https://a.example", verification={"verifiedStatus": "valid"})))
    user = page.users[0]
    assert (user.id, user.key, user.handle, user.name) == (ALICE, ALICE, "aaaa.test", "Name of aaaa")
    assert (user.followers, user.following, user.posts, user.url) == (1204, 14, 411, "https://a.example")
    assert (user.is_verified, user.opts_out, user.is_bot) == (True, False, False)
    assert user.created_at == datetime(2024, 1, 1, tzinfo=UTC)
    assert read("profile", ALICE, answer(detailed(handle="handle.invalid"))).users[0].handle is None


def test_labels_are_kept_and_those_who_hide_from_strangers_opt_out() -> None:
    labels = [{"src": ALICE, "val": "!no-unauthenticated"}, {"val": "bot"}, {"val": "spam", "neg": True}]
    user = read("profile", ALICE, answer(detailed(labels=labels))).users[0]
    assert user.labels == ("!no-unauthenticated", "bot")
    assert (user.opts_out, user.signals) == (True, (Signal.NO_UNAUTHENTICATED,))
    assert user.is_bot is True


def test_whoever_is_shown_with_labels_and_without_that_of_a_bot_is_none() -> None:
    def is_bot(**labels: list[dict[str, Any]]) -> bool | None:
        shown = {"did": ALICE, "handle": "aaaa.test", **labels}
        page = read("followers", BOB, answer({"followers": [shown], "subject": {"did": BOB}}))
        return next(user for user in page.users if user.key == ALICE).is_bot

    assert is_bot(labels=[{"val": "bot"}]) is True
    assert is_bot(labels=[]) is False
    assert is_bot(labels=[{"val": "bot", "neg": True}]) is False
    assert is_bot() is None


def test_a_whole_profile_without_a_word_about_it_is_not_verified_and_one_in_a_list_may_be() -> None:
    whole, listed = read("profile", ALICE, answer(detailed())), {"did": ALICE, "handle": "aaaa.test", "labels": []}
    page = read("followers", BOB, answer({"followers": [listed], "subject": {"did": BOB}}))
    assert whole.users[0].is_verified is False
    assert next(user for user in page.users if user.key == ALICE).is_verified is None


def test_batches_are_matched_by_did_or_handle_and_what_is_missing_is_gone() -> None:
    page = read("profiles", (CAROL, ALICE, "@bbbb.test"), answer({"profiles": [detailed(BOB), detailed(ALICE)]}))
    assert [user.key for user in page.users] == [BOB, ALICE]
    assert page.gone == (Gone(Subject.USER, CAROL, Outcome.NOT_FOUND, True),)


def test_nothing_is_gone_while_an_item_of_the_batch_cannot_be_read() -> None:
    page = read("profiles", (ALICE, BOB), answer({"profiles": [detailed(ALICE), {"did": 7}]}))
    assert page.gone == ()
    assert len(page.broken) == 1
    lost = read("posts", (post_uri(ALICE), post_uri(BOB)), answer({"posts": [{**view(), "record": 5}]}))
    assert lost.gone == (Gone(Subject.POST, post_uri(BOB), Outcome.NOT_FOUND, True),)


def test_a_post_brings_its_words_names_and_times() -> None:
    post = read("posts", post_uri(), answer({"posts": [view()]})).posts[0]
    assert (post.id, post.key, post.author) == (post_uri(), post_uri(), ALICE)
    assert (post.text, post.language) == ("Olá @bbbb.test #Python e.example", "pt")
    assert (post.tags, post.mentions, post.links) == (("Python", "research"), (BOB,), ("https://e.example",))
    assert post.created_at == datetime(2026, 5, 25, 14, 23, 28, 757000, tzinfo=UTC)
    assert post.listed_at == datetime(2026, 5, 25, 14, 23, 29, 132000, tzinfo=UTC)
    assert post_address(post.id) == f"https://bsky.app/profile/{ALICE}/post/3mmoojp4cd223"
    assert (post.replies, post.reposts, post.likes, post.is_time_doubtful) == (1, 2, 5, False)


def test_facets_outside_the_text_are_ignored_as_the_protocol_says() -> None:
    features = [{"$type": "app.bsky.richtext.facet#tag", "tag": "x"}]
    wrong = [{"index": {"byteStart": start, "byteEnd": end}, "features": features} for start, end in ((0, 99), (3, 3), (-1, 2))]
    # "Olá" is three characters and four bytes.
    right = [{"index": {"byteStart": 0, "byteEnd": 4}, "features": [{"$type": "…#tag", "tag": "olá"}]}]
    post = read("posts", post_uri(), answer({"posts": [view(record=record(text="Olá", facets=wrong + right, tags=[]))]})).posts[0]
    assert post.tags == ("olá",)


@pytest.mark.parametrize(
    ("created", "is_doubtful"),
    [("2026-05-25T14:24:00Z", False), ("2027-01-01T00:00:00Z", True), ("2015-03-01T00:00:00Z", True), ("nonsense", False)],
)
def test_times_that_cannot_be_true_are_kept_and_flagged(created: str, is_doubtful: bool) -> None:
    post = read("posts", post_uri(), answer({"posts": [view(record=record(createdAt=created))]})).posts[0]
    assert post.is_time_doubtful is is_doubtful
    assert post.listed_at is not None


def test_replies_name_parent_and_root() -> None:
    said = record(reply={"parent": ref(post_uri(BOB)), "root": ref(post_uri(CAROL))})
    post = read("posts", post_uri(), answer({"posts": [view(record=said)]})).posts[0]
    assert (post.kind, post.reply_to, post.root) == (PostKind.REPLY, post_uri(BOB), post_uri(CAROL))


def test_a_quote_brings_the_quoted_post_along() -> None:
    embed = {"$type": "app.bsky.embed.record#view", "record": quoted(post_uri(BOB))}
    said = record(embed={"$type": "app.bsky.embed.record", "record": ref(post_uri(BOB))})
    page = read("posts", post_uri(), answer({"posts": [view(record=said, embed=embed)]}))
    by_id = {post.id: post for post in page.posts}
    assert (by_id[post_uri()].kind, by_id[post_uri()].quote_of) == (PostKind.QUOTE, post_uri(BOB))
    assert (by_id[post_uri(BOB)].text, by_id[post_uri(BOB)].author) == ("quoted", BOB)
    assert {user.id for user in page.users} == {ALICE, BOB}


def test_pictures_beside_a_quote_keep_both() -> None:
    images = {"$type": "app.bsky.embed.images", "images": [{"alt": "a cat", "image": {"ref": {"$link": "bafkrei1"}}}]}
    inner = {"$type": "app.bsky.embed.record", "record": ref(post_uri(BOB))}
    said = record(embed={"$type": "app.bsky.embed.recordWithMedia", "record": inner, "media": images})
    shown = {
        "$type": "app.bsky.embed.images#view",
        "images": [{"fullsize": "https://cdn.example/1@jpeg", "thumb": "x", "alt": "a cat"}],
    }
    embed = {"record": {"$type": "app.bsky.embed.record#view", "record": quoted(post_uri(BOB))}, "media": shown}
    page = read("posts", post_uri(), answer({"posts": [view(record=said, embed=embed)]}))
    post = next(each for each in page.posts if each.id == post_uri())
    assert post.quote_of == post_uri(BOB)
    assert post.media == (Media(id="bafkrei1", kind="image", url="https://cdn.example/1@jpeg", description="a cat"),)
    assert post_uri(BOB) in {each.id for each in page.posts}


def test_videos_links_and_embedded_lists() -> None:
    video = {"$type": "app.bsky.embed.video", "video": {"ref": {"$link": "bafkvid"}}, "alt": "waves"}
    shown = {"$type": "app.bsky.embed.video#view", "cid": "bafkvid", "playlist": "https://v.example/p.m3u8"}
    post = read("posts", post_uri(), answer({"posts": [view(record=record(embed=video), embed=shown)]})).posts[0]
    assert post.media == (Media(id="bafkvid", kind="video", url="https://v.example/p.m3u8", description="waves"),)
    external = {"$type": "app.bsky.embed.external", "external": {"uri": "https://n.example", "title": "", "description": ""}}
    assert (
        "https://n.example" in read("posts", post_uri(), answer({"posts": [view(record=record(embed=external))]})).posts[0].links
    )
    a_list = {"$type": "app.bsky.embed.record", "record": ref(f"at://{BOB}/app.bsky.graph.list/3k")}
    assert read("posts", post_uri(), answer({"posts": [view(record=record(embed=a_list))]})).posts[0].kind is PostKind.POST


def test_labels_of_author_and_service_come_together() -> None:
    said = record(labels={"values": [{"val": "porn"}]})
    post = read("posts", post_uri(), answer({"posts": [view(record=said, labels=[{"val": "spam"}])]})).posts[0]
    assert (post.labels, post.is_sensitive) == (("spam", "porn"), True)


def test_a_repost_is_a_record_of_its_own_beside_the_original() -> None:
    page = read("timeline", BOB, answer(feed({"post": view(), "reason": repost()})))
    original, passed_on = page.posts
    assert (original.id, original.author) == (post_uri(), ALICE)
    assert (passed_on.id, passed_on.kind) == (f"at://{BOB}/app.bsky.feed.repost/3mmookaaaaa23", PostKind.REPOST)
    assert (passed_on.author, passed_on.repost_of) == (BOB, post_uri())
    unnamed = read("timeline", BOB, answer(feed({"post": view(), "reason": repost(None)}))).posts[1]
    assert unnamed.id == f"at://{BOB}/app.bsky.feed.repost/{ALICE}:3mmoojp4cd223"


def test_pinned_posts_are_skipped_because_they_stand_out_of_order() -> None:
    pinned = {"post": at(0, "3aaaaaaaaaa22"), "reason": {"$type": "app.bsky.feed.defs#reasonPin"}}
    page = read("timeline", ALICE, answer(feed(pinned, {"post": at(500, "3baaaaaaaaa22")})), newest="2026-05-25T12:07:00.000Z")
    assert [post.key for post in page.posts] == [post_uri(ALICE, "3baaaaaaaaa22")]
    assert page.cursor is not None


def test_a_timeline_goes_on_at_its_cursor_even_from_an_empty_page() -> None:
    assert read("timeline", ALICE, answer(feed())).cursor == "2026-05-25T14:20:00Z"
    assert read("timeline", ALICE, answer(feed(cursor=None))).cursor is None
    assert read("timeline", ALICE, answer(feed({"post": view()}, cursor=None))).cursor is None
    repeated = read("timeline", ALICE, answer(feed()), cursor="2026-05-25T14:20:00Z")
    assert (repeated.cursor, repeated.detail) == (None, REPEATED)


def test_a_revisit_stops_where_the_last_one_began() -> None:
    items = [{"post": at(600, "3caaaaaaaaa22")}, {"post": at(420, "3baaaaaaaaa22")}, {"post": at(60, "3aaaaaaaaaa22")}]
    first = read("timeline", ALICE, answer(feed(*items)))
    assert (first.head, first.cursor, len(first.posts)) == ("2026-05-25T12:10:00.000Z", "2026-05-25T14:20:00Z", 3)
    later = read("timeline", ALICE, answer(feed(*items)), newest="2026-05-25T12:07:30.000Z")
    assert later.cursor is None
    assert len(later.posts) == 2
    assert later.results == 3
    assert read("timeline", ALICE, answer(feed(*items[:2])), newest="2026-05-25T12:07:30.000Z").cursor is not None


def test_followers_become_relations_and_the_asked_account_comes_along() -> None:
    body = {"subject": actor(ALICE), "followers": [actor(BOB), {"did": CAROL, "handle": 5.5}], "cursor": "3l3qo2vuowo2b"}
    page = read("followers", ALICE, answer(body))
    assert {(each.kind, each.source, each.target) for each in page.relations} == {
        (RelationKind.FOLLOW, BOB, ALICE),
        (RelationKind.FOLLOW, CAROL, ALICE),
    }
    assert {user.id for user in page.users} >= {ALICE, BOB}
    assert (page.cursor, page.results) == ("3l3qo2vuowo2b", 2)
    following = read("following", ALICE, answer({"subject": actor(ALICE), "follows": [actor(BOB)]}))
    assert [(each.source, each.target) for each in following.relations] == [(ALICE, BOB)]


def test_an_empty_answer_to_an_old_cursor_does_not_end_the_list() -> None:
    page = read("followers", ALICE, answer({"subject": actor(ALICE), "followers": []}), cursor="1683654690921::bafyrei")
    assert page.outcome is Outcome.UNREADABLE


@pytest.mark.parametrize("cursor", [{}, [], "x" * 301, "a\nb", 1.5])
def test_a_cursor_that_cannot_be_sent_back_does_not_pass_for_the_end(cursor: Any) -> None:
    assert read("followers", ALICE, answer({"followers": [actor(BOB)], "cursor": cursor})).outcome is Outcome.UNREADABLE


def test_lists_of_people_in_all_their_wrappings() -> None:
    for facet, target, body in (
        ("likes", post_uri(), {"likes": [{"actor": actor(BOB), "createdAt": "x", "indexedAt": "x"}, {"no": 1}]}),
        ("reposts", post_uri(), {"repostedBy": [actor(BOB), {"no": 1}]}),
        ("people", "bob", {"actors": [actor(BOB), {"no": 1}]}),
        ("members", "at://x", {"items": [{"uri": "at://x", "subject": actor(BOB)}, {"no": 1}], "list": {}}),
        ("lists", BOB, {"lists": [bluesky_list(), {"no": 1}]}),
    ):
        page = read(facet, target, answer({**body, "cursor": "next"}))
        assert [user.id for user in page.users] == [BOB], facet
        assert (page.results, page.cursor, len(page.broken)) == (2, "next", 1), facet


def test_a_search_remembers_its_newest_post() -> None:
    page = read("search", "python", answer({"posts": [at(60, "3aaaaaaaaaa22"), at(30, "3baaaaaaaaa22")], "cursor": "25"}))
    assert (page.head, page.cursor) == ("2026-05-25T12:01:00.000Z", "25")
    old = read(
        "search", "python", answer({"posts": [at(60, "3aaaaaaaaaa22")], "cursor": "50"}), newest="2026-05-25T12:09:00.000Z"
    )
    assert (old.cursor, old.posts) == (None, ())


def test_a_thread_is_read_without_its_holes() -> None:
    missing = {"$type": "app.bsky.feed.defs#notFoundPost", "uri": post_uri(CAROL), "notFound": True}
    hidden = {"$type": "app.bsky.feed.defs#blockedPost", "uri": post_uri(CAROL), "blocked": True, "author": {"did": CAROL}}
    above = {"post": view(post_uri(BOB)), "parent": missing}
    below = [{"post": view(post_uri(CAROL, "3maaaaaaaaa22")), "replies": [hidden, 7]}]
    page = read("thread", post_uri(), answer({"thread": {"post": view(), "parent": above, "replies": below}}))
    assert {post.id for post in page.posts} == {post_uri(), post_uri(BOB), post_uri(CAROL, "3maaaaaaaaa22")}
    assert (len(page.broken), page.gone) == (1, ())
    gone = read("thread", post_uri(), answer({"thread": missing}))
    assert (gone.outcome, gone.gone) == (Outcome.NOT_FOUND, (Gone(Subject.POST, post_uri(), Outcome.NOT_FOUND),))
    assert read("thread", post_uri(), answer({"thread": hidden})).outcome is Outcome.BLOCKED


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("takendown", Outcome.SUSPENDED),
        ("suspended", Outcome.SUSPENDED),
        ("deactivated", Outcome.DEACTIVATED),
        ("deleted", Outcome.NOT_FOUND),
        ("throttled", Outcome.OK),
    ],
)
def test_the_status_of_an_inactive_account_is_an_outcome(status: str, outcome: Outcome) -> None:
    page = read("status", ALICE, answer({"did": ALICE, "active": False, "status": status}))
    assert page.outcome is outcome
    assert bool(page.gone) is (outcome is not Outcome.OK)
    assert read("status", ALICE, answer({"did": ALICE, "active": True, "rev": "3k"})).users[0].id == ALICE
    assert read("status", ALICE, answer({"did": BOB, "active": True})).outcome is Outcome.UNREADABLE


def test_repositories_are_enumerated_with_their_status() -> None:
    repos = [
        {"did": ALICE, "head": "b", "rev": "r", "active": True},
        {"did": BOB, "active": False, "status": "takendown"},
        {"did": "x"},
    ]
    page = read("repos", "all", answer({"repos": repos, "cursor": "3"}))
    assert [user.id for user in page.users] == [ALICE]
    assert page.gone == (Gone(Subject.USER, BOB, Outcome.SUSPENDED, is_stated=True),)
    assert (page.cursor, page.results, len(page.broken)) == ("3", 3, 1)


def test_trends_keep_their_rank() -> None:
    trends = [{"topic": "t1", "displayName": "Eclipse", "postCount": 12, "actors": [actor(BOB)]}, {"x": 1}, {"topic": "t3"}]
    page = read("trends", "all", answer({"trends": trends}))
    assert [(trend.word, trend.rank, trend.volume) for trend in page.trends] == [("Eclipse", 1, 12), ("t3", 3, None)]
    assert [user.id for user in page.users] == [BOB]


def records(*pairs: tuple[str, dict[str, Any]], cursor: str | None = None) -> dict[str, Any]:
    items = [{"uri": f"at://{ALICE}/{path}", "cid": "b", "value": value} for path, value in pairs]
    return {"records": items} | ({"cursor": cursor} if cursor else {})


def test_a_raw_timeline_ends_on_an_empty_page_and_not_on_its_cursor() -> None:
    body = records(("app.bsky.feed.post/3mmoojp4cd223", record()), cursor="3mmoojp4cd223")
    page = read("records", ALICE, answer(body))
    assert (page.cursor, page.head) == ("3mmoojp4cd223", "3mmoojp4cd223")
    assert page.posts[0].listed_at == datetime(2026, 5, 25, 14, 23, 28, 756000, tzinfo=UTC)
    assert read("records", ALICE, answer(records()), cursor="3mmoojp4cd223").cursor is None
    known = read("records", ALICE, answer(body), newest="3mmoojp4cd223")
    assert (known.cursor, known.posts) == (None, ())
    strange = read("records", BOB, answer(body))
    assert (strange.posts, len(strange.broken)) == ((), 1)


def test_raw_reposts_and_follows_are_read() -> None:
    said = {"subject": ref(post_uri(BOB)), "createdAt": "2026-05-25T14:23:28.757Z"}
    page = read("records", ALICE, answer(records(("app.bsky.feed.repost/3mmoojp4cd223", said))))
    assert (page.posts[0].kind, page.posts[0].repost_of) == (PostKind.REPOST, post_uri(BOB))
    follows = records(
        ("app.bsky.graph.follow/3k", {"subject": BOB}), ("app.bsky.graph.follow/3j", {"subject": "bob"}), cursor="3j"
    )
    page = read("following_records", ALICE, answer(follows))
    assert [(each.source, each.target, each.record) for each in page.relations] == [(ALICE, BOB, "3k")]
    assert (page.cursor, len(page.broken)) == ("3j", 1)


@pytest.mark.parametrize(
    ("status", "error", "message", "outcome"),
    [
        (400, "InvalidRequest", "Profile not found", Outcome.NOT_FOUND),
        (400, "InvalidRequest", f"Actor not found: {NEVER_SEEN}", Outcome.NOT_FOUND),
        (400, "InvalidRequest", f"Could not find repo: {NEVER_SEEN}", Outcome.NOT_FOUND),
        (400, "InvalidRequest", "Error: limit can not be greater than 100", Outcome.BAD_REQUEST),
        (400, "NotFound", "Post not found: at://x", Outcome.NOT_FOUND),
        (400, "RecordNotFound", "Could not locate record: at://x", Outcome.NOT_FOUND),
        (400, "RepoNotFound", "", Outcome.NOT_FOUND),
        (400, "AccountTakedown", "Account has been suspended", Outcome.SUSPENDED),
        (400, "RepoTakendown", "", Outcome.SUSPENDED),
        (400, "RepoSuspended", "", Outcome.SUSPENDED),
        (400, "AccountDeactivated", "Account is deactivated", Outcome.DEACTIVATED),
        (400, "RepoDeactivated", "", Outcome.DEACTIVATED),
        (400, "BlockedActor", "", Outcome.BLOCKED),
        (400, "BlockedByActor", "", Outcome.BLOCKED),
        (400, "ExpiredToken", "Token has expired", Outcome.BAD_TOKEN),
        (400, "InvalidToken", "Token could not be verified", Outcome.BAD_TOKEN),
        (401, "AuthMissing", "Authentication Required", Outcome.BAD_TOKEN),
        (404, "XRPCNotSupported", "", Outcome.NOT_OFFERED),
        (501, "MethodNotImplemented", "", Outcome.NOT_OFFERED),
        (429, "RateLimitExceeded", "Rate Limit Exceeded", Outcome.RATE_LIMITED),
        (500, "InternalServerError", "", Outcome.OVERLOADED),
        (503, "NotEnoughResources", "", Outcome.OVERLOADED),
        (502, "UpstreamFailure", "", Outcome.OVERLOADED),
    ],
)
def test_errors_are_outcomes(status: int, error: str, message: str, outcome: Outcome) -> None:
    page = read("timeline", ALICE, answer({"error": error, "message": message}, status))
    assert page.outcome is outcome
    assert bool(page.gone) is outcome.is_about_target


def test_pages_of_proxies_say_nothing_about_accounts() -> None:
    assert read("search", "x", answer(b"<html>403 Forbidden</html>", 403)).outcome is Outcome.FORBIDDEN_SCOPE
    assert read("timeline", ALICE, answer(b"<html>404</html>", 404)).outcome is Outcome.UNREADABLE
    assert read("timeline", ALICE, answer(b"<html>502</html>", 502)).outcome is Outcome.OVERLOADED
    batch = read("profiles", (ALICE, BOB), answer({"error": "AccountTakedown", "message": ""}, 400))
    assert (batch.outcome, batch.gone) == (Outcome.BAD_REQUEST, ())


def test_limits_are_read_in_epoch_seconds() -> None:
    said = {"ratelimit_limit": "3000", "ratelimit_remaining": "0", "ratelimit_reset": "1767614700", "retry_after": "12"}
    page = read("timeline", ALICE, answer({"error": "RateLimitExceeded", "message": ""}, 429, **said))
    assert page.reading is not None
    assert (page.reading.limit, page.reading.remaining) == (3000, 0)
    # The host cuts off the fraction of the second: only a second later has the window certainly ended.
    assert page.reading.reset_at == datetime(2026, 1, 5, 12, 5, 1, tzinfo=UTC)
    assert page.retry_after == timedelta(seconds=12)


def test_a_lone_surrogate_loses_one_item_and_not_the_page() -> None:
    body = b'{"cursor":"n","followers":[{"did":"%b","handle":"\\ud800"},{"did":"%b","handle":"b.test"}]}'
    page = read("followers", CAROL, answer(body % (ALICE.encode(), BOB.encode())))
    assert (page.outcome, page.cursor, len(page.broken)) == (Outcome.OK, "n", 1)
    assert BOB in {user.id for user in page.users}


@pytest.mark.skipif(not RECORDED.is_file(), reason="the recordings are not on this machine")
def test_every_recorded_record_of_the_network_is_understood() -> None:
    events = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    commits = [(event["did"], event["commit"]) for event in events if "record" in event.get("commit", {})]
    facets = {"app.bsky.feed.post": "records", "app.bsky.feed.repost": "records", "app.bsky.graph.follow": "following_records"}
    understood = 0
    for did, commit in commits:
        uri = f"at://{did}/{commit['collection']}/{commit['rkey']}"
        if commit["collection"] in facets:
            page = read(facets[commit["collection"]], did, answer({"records": [{"uri": uri, "value": commit["record"]}]}))
            assert (page.outcome, page.broken) == (Outcome.OK, ()), commit
            assert not any(post.is_time_doubtful for post in page.posts), commit
            understood += len(page.posts) + len(page.relations)
    assert understood >= 3
