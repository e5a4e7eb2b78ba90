"""What real servers send besides the documented samples: each is mapped, and what is odd loses only itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from bluesky_payloads import ALICE, BOB, actor, bluesky, post_uri, quoted, record, ref, repost, view
from provider_payloads import MASTODON, account, answer, mastodon, read, status, tweet, twitter, user
from weibo_payloads import person, remark, weibo, weibo_post
from x_payloads import envelope, x, x_post, x_user

from bowerbird.model import Ask, Outcome, Page, Poll, PollOption, Post, PostKind, ServerInfo

POLL = {
    "id": "34",
    "expires_at": "2019-12-09T04:34:34.466Z",
    "expired": True,
    "multiple": False,
    "votes_count": 10,
    "voters_count": None,
    "options": [{"title": "accept", "votes_count": 6}, {"title": "deny", "votes_count": 4}],
}
HASHTAG = '<a href="https://p.example/tags/Vogel" class="u-url hashtag" rel="noopener">#Vogel</a>'
QUOTED = '<p class="quote-inline">RE: <a href="https://m.example/@b/7"><span class="invisible">https://</span>m.example</a></p>'


def toot(**fields: Any) -> Post:
    (post,) = read(mastodon, "timeline", "1", answer([status("100", **fields)])).posts
    return post


def weibo_read(facet: str, page: Any, target: str = "1") -> Page:
    return read(weibo, facet, target, answer(page))


def microblog(**fields: Any) -> Post:
    page = weibo_read("timeline", {"statuses": [weibo_post(**{"pic_urls": None, **fields})], "total_number": 1})
    assert not page.broken
    return page.posts[0]


def skeet(**fields: Any) -> Post:
    page = read(bluesky, "posts", post_uri(), answer({"posts": [view(**fields)]}))
    assert not page.broken
    return next(post for post in page.posts if post.id == post_uri())


# Mastodon and its kin


@pytest.mark.parametrize(
    ("software", "expected"),
    [
        ("gotosocial", "https://m.example/users/bob"),
        ("takahe", "https://m.example/@bob@m.example/"),
        ("", "https://m.example/@bob"),
    ],
)
def test_an_account_without_its_id_has_the_one_that_the_rule_of_its_server_gives(software: str, expected: str) -> None:
    bob = {**account("2", acct="bob", url="https://m.example/@bob"), "uri": None}
    away = {**account("3", acct="eve@e.example", url="https://e.example/@eve"), "uri": None}
    reader = mastodon.for_server(ServerInfo(software=software, version="1"))
    page = reader.parse(Ask("followers", ("1",)), answer([bob, away]), MASTODON)
    # Of another server's accounts this one's rule says nothing.
    assert [each.id for each in page.users] == [expected, "https://e.example/@eve"]


def test_ids_that_are_numbers_are_ids() -> None:
    page = read(
        mastodon,
        "timeline",
        "1",
        answer(
            [
                status(
                    "9",
                    id=9,
                    in_reply_to_id=7,
                    mentions=[{"id": 5}],
                    account={**account(), "id": 1},
                )
            ]
        ),
    )
    (post,) = page.posts
    assert (post.key, post.reply_to, post.mentions, page.users[0].key, page.head) == ("9", "mastodon:m/7", ("5",), "1", "9")


def test_a_poll_comes_with_its_options_and_how_it_stands() -> None:
    assert toot(poll=POLL).poll == Poll(
        options=(PollOption("accept", 6), PollOption("deny", 4)),
        votes=10,
        is_multiple=False,
        is_closed=True,
        ends_at=datetime(2019, 12, 9, 4, 34, 34, 466000, tzinfo=UTC),
    )
    hidden = toot(poll={**POLL, "options": [{"title": "accept", "votes_count": None}]})
    assert hidden.poll is not None
    assert hidden.poll.options == (PollOption("accept", None),)


@pytest.mark.parametrize(
    "odd",
    [{"poll": {"options": 7}}, {"media_attachments": [{"id": {}}]}, {"tags": [{"name": None}]}, {"application": "web"}],
    ids=str,
)
def test_an_odd_part_of_a_status_loses_only_itself(odd: dict[str, Any]) -> None:
    good = {"media_attachments": [{"id": "3", "type": "image", "url": "https://m.example/i.png"}]}
    post = toot(**{**good, **odd})
    assert post.text == "Hello"
    assert bool(post.media) == ("media_attachments" not in odd)


def test_a_bad_attachment_leaves_the_good_one() -> None:
    good, bad = {"id": "3", "type": "image", "url": "https://m.example/i.png"}, {"id": "4", "url": {}, "type": []}
    assert [each.url for each in toot(media_attachments=[bad, good]).media] == ["https://m.example/i.png"]


@pytest.mark.parametrize(
    "fields",
    [
        {"pleroma": {"quote": status("7")}},
        {"pleroma": {"quote": None, "quote_url": "https://m.example/users/user1/statuses/7"}},
        {"quote": status("7"), "quote_id": "7"},
        {"quote_url": "https://m.example/users/user1/statuses/7"},
        {"quote": {"state": "accepted", "quoted_status": status("7")}},
    ],
    ids=["pleroma", "pleroma url", "akkoma", "url", "mastodon"],
)
def test_every_way_to_write_a_quote_is_one(fields: dict[str, Any]) -> None:
    page = read(mastodon, "timeline", "1", answer([status("100", **fields)]))
    post = next(each for each in page.posts if each.key == "100")
    assert (post.kind, post.quote_of) == (PostKind.QUOTE, "https://m.example/users/user1/statuses/7")


def test_a_quote_named_by_its_key_waits_for_its_post() -> None:
    assert toot(pleroma={"quote_id": "7"}).quote_of == "mastodon:m/7"


@pytest.mark.parametrize(
    "fields",
    [
        {"pleroma": {"emoji_reactions": [{"name": "👍", "count": 2, "me": False}, {"name": "blob", "count": 1}]}},
        {"emoji_reactions": [{"name": "👍", "count": 2}, {"name": "blob", "count": 1}]},
        {"reactions": [{"name": "👍", "count": 2}, {"name": "blob", "count": 1}, {"name": {}}]},
    ],
    ids=["pleroma", "akkoma", "others"],
)
def test_emoji_given_as_reactions_are_counted(fields: dict[str, Any]) -> None:
    assert toot(**fields).emoji == {"👍": 2, "blob": 1}
    assert toot().emoji is None


def test_anchors_marked_as_hashtags_are_hashtags_as_they_were_written() -> None:
    mastodons = '<a href="https://m.example/tags/Katze" class="mention hashtag" rel="tag">#<span>Katze</span></a>'
    post = toot(
        content=f'<p>{HASHTAG} {mastodons} <a href="https://e.example/">e</a></p>', tags=[{"name": "vogel"}, {"name": "x"}]
    )
    assert (post.text, post.tags, post.links) == ("#Vogel #Katze e", ("Vogel", "Katze", "x"), ("https://e.example/",))


def test_what_a_server_writes_for_software_without_quotes_is_no_text() -> None:
    quote = {"state": "accepted", "quoted_status": status("7")}
    page = read(mastodon, "timeline", "1", answer([status("100", content=f"{QUOTED}<p>My words</p>", quote=quote)]))
    post = next(each for each in page.posts if each.key == "100")
    assert (post.text, post.links) == ("My words", ())
    # Where the server does not say what is quoted, the address is all there is to know of it.
    unknown = toot(content=f"{QUOTED}<p>My words</p>")
    assert (unknown.text, unknown.links) == ("My words", ("https://m.example/@b/7",))
    # Pleroma and its kin write it behind the words.
    behind = 'My words<span class="quote-inline"><br/><br/>RE: <a href="https://m.example/7">https://m.example/7</a></span>'
    assert toot(content=behind, quote_url="https://m.example/7").text == "My words"
    # One that never ends would swallow everything.
    assert toot(content='<p class="quote-inline">RE: x<br>My words').text == "RE: x\nMy words"


def test_quotes_are_counted_on_every_network_that_counts_them() -> None:
    assert toot(quotes_count=3).quotes == 3
    assert skeet(quoteCount=4).quotes == 4
    assert read(x, "post", "1", answer({"data": x_post("1"), "includes": {"users": [x_user()]}})).posts[0].quotes == 1
    assert read(twitter, "post", "1", answer(tweet("1", quote_count=5))).posts[0].quotes == 5


def test_versions_bring_the_links_of_their_texts() -> None:
    edit = {
        "content": '<p>See <a href="https://e.example/">e</a></p>',
        "created_at": "2026-01-05T12:00:00Z",
        "account": account(),
    }
    (version,) = read(mastodon, "versions", "1", answer([edit])).versions
    assert (version.text, version.links) == ("See e", ("https://e.example/",))


# Weibo


@pytest.mark.parametrize("facet", ["search", "hashtag", "timeline", "reposts", "thread", "public", "nearby", "trends"])
def test_an_empty_list_in_place_of_a_page_is_an_empty_page(facet: str) -> None:
    page = weibo_read(facet, [])
    assert (page.outcome, page.results, page.cursor, page.posts) == (Outcome.OK, 0, None, ())


@pytest.mark.parametrize("facet", ["followers", "following_list"])
def test_but_no_list_of_people_is_believed_to_be_empty_for_that(facet: str) -> None:
    assert weibo_read(facet, []).outcome is Outcome.UNREADABLE


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"original_pic": "http://ww1.example/large/a.jpg", "thumbnail_pic": "http://ww1.example/thumbnail/a.jpg",
             "pic_ids": ["a", "b", "c"]},
            ["http://ww1.example/large/a.jpg", "http://ww1.example/large/b.jpg", "http://ww1.example/large/c.jpg"],
        ),
        (
            {"original_pic": "http://ww1.example/large/a.jpg",
             "pic_urls": [{"thumbnail_pic": "http://ww2.example/thumbnail/a.jpg"}, {"thumbnail_pic": "http://ww2.example/t/b.gif"}]},
            ["http://ww1.example/large/a.jpg", "http://ww1.example/large/b.gif"],
        ),
        ({"pic_urls": [{"thumbnail_pic": "http://ww2.example/thumbnail/a.jpg"}]}, ["http://ww2.example/thumbnail/a.jpg"]),
        ({"thumbnail_pic": "http://ww1.example/thumbnail/a.jpg", "pic_ids": []}, ["http://ww1.example/thumbnail/a.jpg"]),
        ({"pic_ids": ["a", "b"]}, ["https://wx1.sinaimg.cn/large/a.jpg", "https://wx1.sinaimg.cn/large/b.jpg"]),
        ({"original_pic": "", "thumbnail_pic": "", "pic_ids": []}, []),
    ],
    ids=["by name", "originals", "thumbnails", "one", "names alone", "none"],
)  # fmt: skip
def test_all_pictures_of_a_post_are_kept_in_the_best_size(fields: dict[str, Any], expected: list[str]) -> None:
    media = microblog(**fields).media
    assert [each.url for each in media] == expected
    assert [each.id for each in media] == [f"weibo:{url.rsplit('/', 1)[-1]}" for url in expected]


def test_a_repost_tells_through_which_one_it_came() -> None:
    root = weibo_post("50")
    posts = weibo_read("reposts", {"reposts": [weibo_post("100", retweeted_status=root, pid=90)], "total_number": 1}).posts
    post = next(each for each in posts if each.key == "100")
    assert (post.repost_of, post.via) == ("weibo:50", "weibo:90")
    assert microblog(retweeted_status=root, pid="50").via is None
    assert microblog(pid=90).via is None


def test_a_long_post_is_marked_until_its_whole_text_comes() -> None:
    assert (microblog(isLongText=True, text="the begin...").is_cut, microblog(isLongText=False).is_cut) == (True, False)
    whole = microblog(isLongText=True, text="the begin...", longText={"longTextContent": "the beginning &amp; the end #话题#"})
    assert (whole.text, whole.is_cut, whole.tags) == ("the beginning & the end #话题#", False, ("话题",))
    assert microblog().is_cut is None
    assert microblog(isLongText=True, longText={"longTextContent": 7}).is_cut is True


def test_a_day_of_one_digit_is_a_day() -> None:
    assert microblog(created_at="Wed Apr 4 14:00:30 +0800 2012").created_at == datetime(2012, 4, 4, 6, 0, 30, tzinfo=UTC)
    padded = microblog(created_at="Wed Apr  4 14:00:30 +0800 2012")
    assert padded.created_at == datetime(2012, 4, 4, 6, 0, 30, tzinfo=UTC)


def test_the_number_comes_before_the_mid() -> None:
    assert microblog(idstr=None, id=77, mid="88").key == "77"
    assert microblog(idstr=None, id=None, mid="88").key == "88"
    page = weibo_read("comments", [remark("1", idstr=None, id=77, mid="88", user=person("2"))], "77")
    assert page.posts[-1].key == "77"


# Bluesky

CARD = {"external": {"uri": "https://news.example/", "title": "News", "description": ""}}


def test_a_quote_with_a_link_card_keeps_both() -> None:
    embed = {"$type": "app.bsky.embed.recordWithMedia", "record": {"record": ref(post_uri(BOB))}, "media": CARD}
    shown = {"$type": "app.bsky.embed.recordWithMedia#view", "record": {"record": quoted(post_uri(BOB))}, "media": CARD}
    post = skeet(record=record(embed=embed, facets=None, tags=None), embed=shown)
    assert (post.quote_of, post.links, post.kind) == (post_uri(BOB), ("https://news.example/",), PostKind.QUOTE)


@pytest.mark.parametrize(
    "odd",
    [
        {"images": [{"alt": "x", "image": "https://old.example/"}]},
        {"$type": "app.bsky.embed.new", "images": {"first": 1}},
        {"video": "bafkrei"},
        ["no embed"],
    ],
    ids=str,
)
def test_an_odd_embed_loses_only_the_media(odd: Any) -> None:
    for fields in ({"record": record(embed=odd)}, {"record": record(), "embed": odd}):
        post = skeet(**fields)
        assert (post.text, post.media) == (record()["text"], ())


def test_an_odd_mark_in_the_text_loses_only_itself() -> None:
    post = skeet(record=record(facets=[{"index": 7}, *record()["facets"]], langs=[7, "pt"], tags={"no": "list"}))
    assert (post.text, post.mentions, post.language) == (record()["text"], (BOB,), "pt")


def test_an_odd_medium_leaves_the_quote_beside_it() -> None:
    embed = {"record": {"record": ref(post_uri(BOB))}, "media": {"images": 7, **CARD}}
    post = skeet(record=record(embed=embed, facets=None, tags=None))
    assert (post.quote_of, post.links) == (post_uri(BOB), ("https://news.example/",))


def test_what_a_reply_answers_comes_along_with_the_feed_once() -> None:
    root, parent = view(post_uri(BOB), author=actor(BOB)), view(post_uri(BOB, "3mmoojp4cd299"), author=actor(BOB))
    answers = {"root": {**root, "$type": "app.bsky.feed.defs#postView"}, "parent": parent}
    feed = [{"post": view(), "reply": answers}, {"post": view(post_uri(rkey="3mmoojp4cd225")), "reply": answers}]
    page = read(bluesky, "timeline", ALICE, answer({"feed": feed}))
    assert {post.id for post in page.posts} == {post_uri(), post_uri(rkey="3mmoojp4cd225"), root["uri"], parent["uri"]}
    assert page.along == {root["uri"], parent["uri"]}
    assert {each.id for each in page.users} == {ALICE, BOB}
    assert page.results == 2


def test_hidden_and_odd_posts_beside_a_reply_cost_nothing_else() -> None:
    hidden = {"uri": post_uri(BOB), "notFound": True}
    blocked = {"uri": post_uri(BOB), "blocked": True, "author": {"did": BOB}}
    page = read(bluesky, "timeline", ALICE, answer({"feed": [{"post": view(), "reply": {"root": hidden, "parent": blocked}}]}))
    assert ([post.id for post in page.posts], page.broken) == ([post_uri()], ())
    for odd in (7, {"root": {"uri": post_uri(BOB)}, "parent": 7}):
        page = read(bluesky, "timeline", ALICE, answer({"feed": [{"post": view(), "reply": odd}]}))
        assert [post.id for post in page.posts] == [post_uri()]
        assert page.broken


def test_the_payload_of_a_repost_holds_nothing_of_those_who_were_answered() -> None:
    root = view(post_uri(BOB), author=actor(BOB), record=record(text="words of Bob"))
    page = read(bluesky, "timeline", ALICE, answer({"feed": [{"post": view(), "reply": {"root": root}, "reason": repost()}]}))
    passed_on = next(post for post in page.posts if post.kind is PostKind.REPOST)
    assert b"words of Bob" not in passed_on.raw


def test_a_repost_record_names_the_repost_it_came_through() -> None:
    through = f"at://{BOB}/app.bsky.feed.repost/3mmookaaaaa23"
    rows = [
        {"uri": f"at://{ALICE}/app.bsky.feed.repost/3mmoojp4cd22{n}", "value": {"subject": ref(post_uri(BOB)), "via": via}}
        for n, via in enumerate((ref(through), {"uri": 7}, None), 2)
    ]
    page = read(bluesky, "records", ALICE, answer({"records": rows}))
    assert [(post.repost_of, post.via) for post in page.posts] == [
        (post_uri(BOB), through),
        (post_uri(BOB), None),
        (post_uri(BOB), None),
    ]


# X, and all of them


@pytest.mark.parametrize("written", ["großbritannien", "Großbritannien", "ΌΣΟΣ"])
def test_hashtags_are_kept_as_they_were_written(written: str) -> None:
    tags = [{"tag": written}, {"tag": written.lower()}]
    shown = read(x, "search", "a", answer(envelope([x_post("1", entities={"hashtags": tags})], users=[x_user()])))
    assert shown.posts[0].tags == (written,)
    classic = {"hashtags": [{"text": written}, {"text": written.lower()}]}
    assert read(twitter, "post", "1", answer(tweet("1", entities=classic))).posts[0].tags == (written,)
    assert microblog(text=f"#{written}# #{written.lower()}#").tags == (written,)
    assert toot(tags=[{"name": written}, {"name": written.lower()}]).tags == (written,)
    facet = x.facets["hashtag"]
    assert x.target(f"#{written}", facet) == written.lower()


def test_cashtags_are_told_apart_from_hashtags() -> None:
    entities = {"cashtags": [{"tag": "BIRD"}, {"tag": "BIRD"}], "hashtags": [{"tag": "birds"}]}
    post = read(x, "search", "a", answer(envelope([x_post("1", entities=entities)], users=[x_user()]))).posts[0]
    assert (post.cashtags, post.tags) == (("BIRD",), ("birds",))
    classic = tweet("1", entities={"symbols": [{"text": "BIRD", "indices": [0, 5]}], "hashtags": []})
    assert read(twitter, "post", "1", answer(classic)).posts[0].cashtags == ("BIRD",)
    text = "$BIRD #birds"
    facets = [
        {"index": {"byteStart": start, "byteEnd": end}, "features": [{"$type": "app.bsky.richtext.facet#tag", "tag": tag}]}
        for start, end, tag in ((0, 5, "$BIRD"), (6, 12, "birds"))
    ]
    named = skeet(record=record(text=text, facets=facets, tags=None))
    assert (named.cashtags, named.tags) == (("BIRD",), ("birds",))


def test_a_poll_on_x_is_joined_with_its_post() -> None:
    options = [{"position": 2, "label": "no", "votes": 1}, {"position": 1, "label": "yes", "votes": 5}]
    poll = {"id": "5", "options": options, "voting_status": "open", "end_datetime": "2026-01-06T12:00:00.000Z"}
    body = envelope([x_post("1", attachments={"poll_ids": ["5"]})], users=[x_user()], polls=[{"id": 7}, poll])
    page = read(x, "search", "a", answer(body))
    assert page.posts[0].poll == Poll(
        options=(PollOption("yes", 5), PollOption("no", 1)),
        votes=6,
        voters=6,
        is_multiple=False,
        is_closed=False,
        ends_at=datetime(2026, 1, 6, 12, tzinfo=UTC),
    )
    assert len(page.broken) == 1
    asked = dict(x.request(Ask("search", ("a",))).query)
    assert "attachments.poll_ids" in asked["expansions"].split(",")
    assert {"options", "voting_status"} <= set(asked["poll.fields"].split(","))


def test_an_edit_on_x_names_the_post_it_replaces() -> None:
    posts = [x_post(key, edit_history_tweet_ids=["1", "2", "3"]) for key in ("3", "2", "1")]
    page = read(x, "search", "a", answer(envelope(posts, users=[x_user()])))
    assert [(post.key, post.edit_of) for post in page.posts] == [("3", "x:2"), ("2", "x:1"), ("1", None)]


def test_where_something_is_withheld_is_a_label_of_it() -> None:
    page = read(
        twitter,
        "post",
        "1",
        answer(tweet("1", withheld_in_countries=["DE", "TR"], user=user("1", withheld_in_countries=["TR"]))),
    )
    assert (page.posts[0].labels, page.users[0].labels) == (("withheld:DE", "withheld:TR"), ("withheld:TR",))


@pytest.mark.parametrize(
    "odd", [{"entities": {"hashtags": [{"text": {}}, {"text": "birds"}]}}, {"place": 7}, {"extended_entities": []}]
)
def test_an_odd_part_of_a_tweet_loses_only_itself(odd: dict[str, Any]) -> None:
    post = read(twitter, "post", "1", answer(tweet("1", **odd))).posts[0]
    assert post.text == "Fish & chips"
    assert post.tags == (("birds",) if "entities" in odd else ())


def test_an_odd_part_of_a_post_on_x_loses_only_itself() -> None:
    odd = x_post("1", entities={"hashtags": [{"tag": []}, {"tag": "birds"}], "urls": 7}, geo=[], attachments="none")
    post = read(x, "search", "a", answer(envelope([odd], users=[x_user()]))).posts[0]
    assert (post.tags, post.links, post.place) == (("birds",), (), None)
