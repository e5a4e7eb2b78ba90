"""What a post shows of another one is that one's content: it is found when that is deleted, or it is not in the payload."""

from __future__ import annotations

from typing import Any

from bluesky_payloads import BOB, CAROL, post_uri, quoted, record, ref, view
from bluesky_payloads import read as read_bluesky
from provider_payloads import answer, read, tweet, twitter, user
from weibo_payloads import read as read_weibo
from weibo_payloads import weibo_post

from bowerbird.model import Page, Post, PostKind

SECRET = "only the other one wrote this"


def other(key: str = "5", **more: Any) -> dict[str, Any]:
    return tweet(key, **{"user": user("2"), "full_text": SECRET, **more})


def shown(item: dict[str, Any]) -> Post:
    found = read(twitter, "timeline", "1", answer([item]))
    return next(post for post in found.posts if post.key == item["id_str"])


def test_a_server_that_does_not_name_what_it_shows_as_quoted_is_understood() -> None:
    post = shown(tweet("9", quoted_status=other()))
    assert (post.kind, post.quote_of, SECRET.encode() in post.raw) == (PostKind.QUOTE, "x:5", True)
    reply = shown(tweet("9", in_reply_to_status_id_str="5", quoted_status=other()))
    assert (reply.kind, reply.reply_to, reply.quote_of) == (PostKind.REPLY, "x:5", "x:5")


def test_what_is_shown_under_the_name_of_another_post_is_not_kept_in_the_payload() -> None:
    post = shown(tweet("9", quoted_status_id_str="6", quoted_status=other()))
    assert (post.quote_of, SECRET.encode() in post.raw) == ("x:6", False)


def test_what_cannot_be_read_or_has_no_author_is_not_kept_in_the_payload() -> None:
    assert SECRET.encode() not in shown(tweet("9", quoted_status=other(created_at=7))).raw
    assert SECRET.encode() not in shown(tweet("9", quoted_status=other(user=None))).raw
    assert SECRET.encode() not in shown(tweet("9", retweeted_status=other(user=None))).raw


def test_a_repost_of_a_quote_does_not_show_what_is_quoted_beside_its_original() -> None:
    post = shown(tweet("9", retweeted_status=tweet("7", user=user("3")), quoted_status=other()))
    assert (post.repost_of, SECRET.encode() in post.raw) == ("x:7", False)


def test_the_root_of_a_chain_on_weibo_passes_on_nothing() -> None:
    root = weibo_post("3355703951548132", retweeted_status=weibo_post("3355703951540000", text=SECRET))
    page = read_weibo("timeline", "1", answer({"statuses": [weibo_post(retweeted_status=root)], "total_number": 1}))
    assert [SECRET.encode() in post.raw for post in page.posts if post.key == "3355703951548132"] == [False]


def bluesky(embed: dict[str, Any], named: str) -> Page:
    written = record(embed={"$type": "app.bsky.embed.record", "record": ref(named)})
    return read_bluesky("posts", post_uri(), answer({"posts": [view(record=written, embed=embed)]}))


def test_what_a_quoted_post_quotes_is_a_post_of_its_own_on_bluesky() -> None:
    inner = {**quoted(post_uri(CAROL)), "value": record(text=SECRET)}
    middle = {
        **quoted(post_uri(BOB)),
        "value": record(embed={"$type": "app.bsky.embed.record", "record": ref(post_uri(CAROL))}),
        "embeds": [{"$type": "app.bsky.embed.record#view", "record": inner}],
    }
    page = bluesky({"$type": "app.bsky.embed.record#view", "record": middle}, post_uri(BOB))
    found = {post.id: post.quote_of for post in page.posts}
    assert found == {post_uri(): post_uri(BOB), post_uri(BOB): post_uri(CAROL), post_uri(CAROL): None}


def test_what_bluesky_shows_and_the_record_does_not_name_is_not_kept_in_the_payload() -> None:
    page = bluesky(
        {"$type": "app.bsky.embed.record#view", "record": {**quoted(post_uri(BOB)), "value": record(text=SECRET)}},
        post_uri(CAROL),
    )
    (carrier,) = [post for post in page.posts if post.id == post_uri()]
    assert SECRET.encode() not in carrier.raw
