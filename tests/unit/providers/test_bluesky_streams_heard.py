"""What Bluesky's streams say, in every wire: items, ends, deletions, accounts, cursors, notices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bluesky_frames import (
    FOLLOW,
    POST,
    PROFILE,
    REPOST,
    RKEY,
    account,
    cbor,
    commit,
    committed,
    frame,
    hear,
    identity,
    listener,
    messages,
    micros,
    packed,
    second,
)
from bluesky_payloads import ALICE, BOB, CAROL, post_uri, record, ref

from bowerbird.model import (
    Gone,
    Heard,
    NoticeKind,
    Outcome,
    Page,
    PostKind,
    Relation,
    RelationEnd,
    RelationKind,
    Subject,
    from_micros,
)

RECORDED = Path(__file__).parents[4] / "shared" / "data" / "recordings-jetstream" / "golden_v1.jsonl"
EVERY_WIRE = pytest.mark.parametrize("channel", ["jetstream", "jetstream_v2", "firehose"])
PICTURE = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
IMAGE = {"$type": "app.bsky.embed.images", "images": [{"alt": "a cat", "image": {"$type": "blob", "ref": {"$link": PICTURE}}}]}
REPOSTED = {"$type": REPOST, "subject": ref(post_uri(BOB)), "createdAt": "2026-05-25T14:23:28.757Z"}
FOLLOWED = {"$type": FOLLOW, "subject": BOB, "createdAt": "2026-05-25T14:23:28.757Z"}
KEY = f"at://{ALICE}/{POST}/{RKEY}"
FOLLOWS = Relation(RelationKind.FOLLOW, ALICE, BOB, RKEY)


def only(said: Heard) -> Page:
    """The one page that was enough."""
    (page,) = said.pages
    return page


@EVERY_WIRE
def test_posts_reposts_follows_and_profiles_become_items_of_one_page(channel: str) -> None:
    said = hear(
        channel,
        commit("create", POST, record(embed=IMAGE)),
        commit("create", REPOST, REPOSTED),
        commit("create", FOLLOW, FOLLOWED),
        commit("update", PROFILE, {"displayName": "Alice"}, "self"),
        commit("create", "app.bsky.feed.like", {"subject": ref(post_uri(BOB))}),
    )
    page = only(said)
    post, repost = page.posts
    assert (post.key, post.author, post.language, post.tags, post.mentions) == (KEY, ALICE, "pt", ("Python", "research"), (BOB,))
    assert (post.media[0].id, post.media[0].description) == (PICTURE, "a cat")
    assert post.listed_at == from_micros(micros(1))
    assert json.loads(post.raw) == record(embed=IMAGE)
    assert (repost.kind, repost.repost_of) == (PostKind.REPOST, post_uri(BOB))
    assert page.relations == (FOLLOWS,)
    assert [(user.id, user.name) for user in page.users] == [(ALICE, "Alice")]
    assert (said.events, page.results, page.broken) == (5, 4, ())
    assert said.newest_at == from_micros(micros(5))


@EVERY_WIRE
def test_deletions_name_the_post_and_the_record_of_the_follow(channel: str) -> None:
    page = only(hear(channel, *(commit("delete", each) for each in (POST, REPOST, FOLLOW, PROFILE))))
    posts = (KEY, f"at://{ALICE}/{REPOST}/{RKEY}")
    assert page.gone == tuple(Gone(Subject.POST, key, Outcome.NOT_FOUND) for key in posts)
    assert page.ended == (RelationEnd(RelationKind.FOLLOW, ALICE, RKEY),)
    assert page.broken == ()


@EVERY_WIRE
def test_a_rewritten_post_says_when_it_was_edited(channel: str) -> None:
    said = hear(channel, commit("create", POST, record()), commit("update", POST, record(text="better")))
    before, after = (page.posts[0] for page in said.pages)
    assert (before.edited_at, after.edited_at, after.text) == (None, from_micros(micros(2)), "better")


@EVERY_WIRE
def test_a_rewritten_follow_ends_what_the_record_said_before(channel: str) -> None:
    said = hear(channel, commit("update", FOLLOW, FOLLOWED))
    assert [(page.ended, page.relations) for page in said.pages] == [
        ((RelationEnd(RelationKind.FOLLOW, ALICE, RKEY),), ()),
        ((), (FOLLOWS,)),
    ]


@EVERY_WIRE
def test_only_what_contradicts_a_page_goes_into_the_next(channel: str) -> None:
    said = hear(
        channel,
        commit("create", POST, record()),
        commit("delete", POST),
        commit("create", FOLLOW, FOLLOWED),
        commit("delete", FOLLOW),
        commit("create", FOLLOW, FOLLOWED, "3mmoojp4cd224"),
        account(False, "deactivated"),
        account(True),
        commit("create", POST, record(), did=CAROL),
    )
    told = [(len(p.posts), len(p.gone), len(p.relations), len(p.ended), len(p.users)) for p in said.pages]
    # The end of one record and the beginning of another share a page: the store ends before it adds. Alice goes after she
    # followed, and is back after she went; Carol has nothing to do with any of it.
    assert told == [(2, 0, 1, 0, 0), (0, 2, 1, 1, 0), (0, 0, 0, 0, 1)]


@EVERY_WIRE
def test_what_is_told_of_one_account_or_post_stays_in_order(channel: str) -> None:
    said = hear(
        channel,
        account(False, "deactivated"),
        account(True),
        commit("create", POST, record(text="back")),
        commit("create", FOLLOW, FOLLOWED),
        commit("delete", POST),
        account(False, "suspended"),
        commit("delete", FOLLOW),
        commit("create", POST, record(text="again"), "3mmoojp4cd224"),
    )
    told = [([p.text for p in page.posts], [g.key for g in page.gone], len(page.users)) for page in said.pages]
    post = f"at://{ALICE}/{POST}/{RKEY}"
    assert told == [([], [ALICE], 0), (["back"], [], 1), ([], [post, ALICE], 0), (["again"], [], 0)]
    assert [(len(page.relations), len(page.ended)) for page in said.pages] == [(0, 0), (1, 0), (0, 1), (0, 0)]


@EVERY_WIRE
def test_the_same_item_again_is_dropped(channel: str) -> None:
    again = (commit("create", POST, record()), commit("create", FOLLOW, FOLLOWED), account(True), identity("a.test"))
    page = only(hear(channel, *again, *again, commit("delete", POST, did=BOB), commit("delete", POST, did=BOB)))
    assert (len(page.posts), len(page.relations), len(page.users), len(page.gone)) == (1, 1, 1, 1)


@EVERY_WIRE
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("takendown", Outcome.SUSPENDED),
        ("suspended", Outcome.SUSPENDED),
        ("deleted", Outcome.NOT_FOUND),
        ("deactivated", Outcome.DEACTIVATED),
    ],
)
def test_an_account_that_went_is_gone_for_its_reason(channel: str, status: str, reason: Outcome) -> None:
    assert only(hear(channel, account(False, status))).gone == (Gone(Subject.USER, ALICE, reason),)


@EVERY_WIRE
@pytest.mark.parametrize("status", ["desynchronized", "throttled", None])
def test_a_host_that_lags_behind_says_nothing_about_the_account(channel: str, status: str | None) -> None:
    said = hear(channel, account(False, status))
    assert said.pages == ()
    assert [notice.kind for notice in said.notices] == [NoticeKind.OTHER]


@EVERY_WIRE
def test_an_account_that_is_there_again_is_a_bare_user(channel: str) -> None:
    user = only(hear(channel, account(True))).users[0]
    assert (user.id, user.key, user.handle, user.raw) == (ALICE, ALICE, None, b"")


@EVERY_WIRE
def test_handle_and_profile_of_one_account_are_one_user(channel: str) -> None:
    profile = commit("create", PROFILE, {"displayName": "Alice"}, "self")
    for events in ((identity("a.test"), account(True), profile), (profile, identity("a.test"))):
        page = only(hear(channel, *events))
        assert [(user.handle, user.name) for user in page.users] == [("a.test", "Alice")]


@EVERY_WIRE
def test_whoever_writes_a_profile_without_the_label_of_a_bot_is_none(channel: str) -> None:
    for labels, is_bot in (({}, False), ({"labels": {"values": [{"val": "bot"}]}}, True)):
        page = only(hear(channel, commit("create", PROFILE, {"displayName": "Alice", **labels}, "self")))
        assert [user.is_bot for user in page.users] == [is_bot]


@EVERY_WIRE
def test_two_handles_or_profiles_of_one_account_are_two_pages(channel: str) -> None:
    assert [page.users[0].handle for page in hear(channel, identity("a.test"), identity("b.test")).pages] == ["a.test", "b.test"]
    profiles = (commit("update", PROFILE, {"displayName": name}, "self") for name in "ab")
    assert [page.users[0].name for page in hear(channel, *profiles).pages] == ["a", "b"]


@EVERY_WIRE
@pytest.mark.parametrize("handle", [None, "handle.invalid", "no handle"])
def test_an_identity_without_a_usable_handle_tells_nothing(channel: str, handle: str | None) -> None:
    said = hear(channel, identity(handle))
    assert (said.pages, said.events) == ((), 1)


@EVERY_WIRE
@pytest.mark.parametrize(
    "event",
    [
        commit("create", POST, {"text": ["?"]}),
        commit("create", FOLLOW, {"subject": "nobody"}),
        commit("create", REPOST, {"subject": ref("at://nobody")}),
        commit("create", POST, record(), rkey="a/b"),
    ],
)
def test_one_record_that_cannot_be_read_loses_only_itself(channel: str, event: dict[str, object]) -> None:
    page = only(hear(channel, event, commit("create", POST, record())))
    assert (len(page.posts), len(page.broken)) == (1, 1)
    assert page.broken[0].raw


@EVERY_WIRE
def test_unknown_collections_operations_and_kinds_pass(channel: str) -> None:
    said = hear(
        channel,
        commit("create", "org.example.thing", {"a": 1}),
        commit("mend", POST, record()),
        {"kind": "novelty", "body": {"a": 1}},
    )
    assert said.pages == ()


@EVERY_WIRE
def test_signs_of_life_are_no_events(channel: str) -> None:
    said = listener(channel).hear([b"", b""])
    assert (said.events, said.pages, said.cursor) == (0, (), None)


@pytest.mark.parametrize(
    ("channel", "cursor"),
    [("jetstream", str(micros(3))), ("jetstream_v2", f"3@{micros(3)}"), ("firehose", "3")],
)
def test_a_resumed_stream_goes_on_where_it_was(channel: str, cursor: str) -> None:
    events = [commit("create", POST, record(), f"3mmoojp4cd22{number}") for number in range(2, 8)]
    assert hear(channel, *events[:3]).cursor == cursor
    said = hear(channel, *events, cursor=cursor)
    # The first wire counts times: another event may have happened in the very same microsecond.
    known = 2 if channel == "jetstream" else 3
    assert [post.key[-1] for post in only(said).posts] == list("234567"[known:])
    assert said.events == 6 - known


@EVERY_WIRE
def test_what_comes_late_is_heard_and_what_comes_twice_is_not(channel: str) -> None:
    ears = listener(channel)
    follow = commit("create", FOLLOW, FOLLOWED, number=1)
    ears.hear(messages(channel, follow, commit("delete", FOLLOW, number=3)))
    said = ears.hear(messages(channel, follow, commit("create", POST, record(), number=2)))
    assert (only(said).relations, len(only(said).posts), said.cursor) == ((), 1, None)


def test_events_of_one_microsecond_are_all_heard() -> None:
    events = [commit("create", POST, record(), f"3mmoojp4cd22{number}", number=7) for number in range(2, 5)]
    assert len(only(hear("jetstream", *events)).posts) == 3


def test_a_reset_repository_and_a_commit_too_big_are_fetched_whole() -> None:
    big = {**committed(BOB, 2, "create", f"{POST}/{RKEY}"), "tooBig": True}
    said = listener("firehose").hear([cbor("#sync", {"seq": 1, "did": ALICE, "blocks": b"", "rev": "x"}), cbor("#commit", big)])
    assert said.refetch == (("repo", ALICE), ("repo", BOB))
    sync = {"kind": "sync", "body": {"rev": "x"}}
    assert listener("jetstream_v2").hear([second(sync, 1), second(sync, 2)]).refetch == (("repo", ALICE),)


def test_a_commit_that_lacks_its_record_is_fetched_whole() -> None:
    whole = committed(ALICE, 1, "create", f"{POST}/{RKEY}", b"\xa0")
    other = committed(ALICE, 1, "create", f"{POST}/{RKEY}", b"\x80")
    for payload in ({**whole, "blocks": other["blocks"]}, {**whole, "blocks": b"no CAR"}):
        said = listener("firehose").hear([cbor("#commit", payload)])
        assert (said.refetch, said.pages, said.cursor) == ((("repo", ALICE),), (), "1")


def test_a_firehose_is_filtered_by_collection_and_account_here() -> None:
    events = [commit("create", POST, record()), commit("create", FOLLOW, FOLLOWED), commit("create", POST, record(), did=BOB)]
    said = listener("firehose", collections=["app.bsky.feed.*"], dids=[ALICE]).hear(messages("firehose", *events))
    assert [post.author for post in only(said).posts] == [ALICE]
    assert (only(said).relations, said.cursor) == ((), "3")


def test_an_outdated_cursor_is_a_notice_unless_the_oldest_was_asked_for() -> None:
    old = cbor("#info", {"name": "OutdatedCursor", "message": "possibly missing events"})
    info = {"$type": "network.bsky.jetstream.subscribeEvents#info", "name": "OutdatedCursor", "message": "resumed at 7"}
    new = packed({"$type": "message", "payload": info})
    for channel, message in (("firehose", old), ("jetstream_v2", new)):
        assert [each.kind for each in listener(channel, "5").hear([message]).notices] == [NoticeKind.OUTDATED]
        assert listener(channel, start=["oldest"]).hear([message]).notices == ()


@pytest.mark.parametrize(
    ("name", "kind", "closing"),
    [
        ("ConsumerTooSlow", NoticeKind.SLOW, Outcome.OVERLOADED),
        ("FutureCursor", NoticeKind.FUTURE, Outcome.BAD_REQUEST),
        ("Novelty", NoticeKind.CLOSING, Outcome.OVERLOADED),
    ],
)
def test_an_error_ends_the_connection_and_says_why(name: str, kind: NoticeKind, closing: Outcome) -> None:
    after = commit("create", POST, record())
    old = listener("firehose").hear([cbor("", {"error": name, "message": "words"}, -1), frame(after, 1)])
    new = listener("jetstream_v2").hear([packed({"$type": "error", "error": name, "message": "words"}), second(after, 1)])
    for said in (old, new):
        assert (said.notices[0].kind, said.notices[0].detail, said.closing) == (kind, f"{name}: words", closing)
        assert said.pages == ()


def test_a_cursor_ahead_of_the_service_ends_the_connection_and_stays() -> None:
    info = {"$type": "network.bsky.jetstream.subscribeEvents#info", "name": "FutureCursor", "message": "at the tip"}
    ears = listener("jetstream_v2", "900")
    said = ears.hear([packed({"$type": "message", "payload": info}), second(commit("create", POST, record()), 7)])
    assert (said.notices[0].kind, said.pages, said.cursor) == (NoticeKind.FUTURE, (), None)
    assert said.closing is Outcome.BAD_REQUEST


def test_another_host_that_counts_for_itself_is_followed_by_time() -> None:
    posts = [commit("create", POST, record(), f"3mmoojp4cd22{number}", number=number) for number in (6, 7, 8)]
    said = hear("jetstream_v2", *posts, cursor=f"900@{micros(6)}")
    assert ([post.key[-1] for post in only(said).posts], said.cursor) == (["7", "8"], f"8@{micros(8)}")


def test_a_message_that_is_no_cbor_is_quarantined_alone() -> None:
    # A replay would bring it again for ever if it ended the connection.
    event, other = commit("create", POST, record()), commit("create", POST, record(), did=BOB)
    said = listener("firehose").hear([frame(event, 1), b"\xff\x00", frame(other, 2)])
    assert (len(only(said).posts), len(only(said).broken), said.cursor, said.closing) == (2, 1, "2", None)


def test_a_cursor_ahead_of_the_first_jetstream_is_told_and_nothing_is_taken_for_known() -> None:
    event = commit("create", POST, record())
    now = int(hear("jetstream", event).cursor or 0)
    said = hear("jetstream", event, cursor=str(now + 86_400_000_000))
    assert [notice.kind for notice in said.notices] == [NoticeKind.FUTURE]
    assert (said.closing, said.cursor, said.pages) == (Outcome.BAD_REQUEST, None, ())


def test_a_message_that_is_no_json_loses_only_itself() -> None:
    for channel in ("jetstream", "jetstream_v2"):
        event = messages(channel, commit("create", POST, record()))
        page = only(listener(channel).hear([b"<html>", b"[]", *event]))
        assert (len(page.posts), len(page.broken)) == (1, 2)


def test_unknown_operations_and_types_of_the_firehose_pass() -> None:
    said = listener("firehose").hear(
        [cbor("#novelty", {"seq": 1}), cbor("#commit", {"seq": 1}, 7), cbor("#info", {"name": "News"})]
    )
    assert (said.pages, said.events, said.closing) == ((), 0, None)
    assert [notice.kind for notice in said.notices] == [NoticeKind.OTHER]


@pytest.mark.skipif(not RECORDED.exists(), reason="the recordings are not here")
def test_every_recorded_event_maps_or_is_knowingly_passed_over() -> None:
    lines = RECORDED.read_bytes().splitlines()
    said = listener("jetstream").hear(lines)
    items = sum(page.results for page in said.pages)
    passed = [line for line in map(json.loads, lines) if is_passed_over(line)]
    assert (said.events, items + len(passed)) == (len(lines), len(lines))
    assert all(page.broken == () for page in said.pages)


def is_passed_over(event: dict[str, dict[str, str]]) -> bool:
    """A record of a collection that has no items, or an identity without a handle."""
    if "commit" in event:
        return event["commit"]["collection"] not in (POST, REPOST, FOLLOW, PROFILE)
    return "identity" in event and "handle" not in event["identity"]
