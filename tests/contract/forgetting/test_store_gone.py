"""Absence, tombstones and opting out, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from store_pages import FEDIVERSE, POSTS, PROFILES, START, TIMELINE, Crawled, micros, post, toot, user

from bowerbird.model import Gone, Media, Outcome, Page, PostKind, Subject
from bowerbird.ports import Database
from bowerbird.reports.reader import Reader

CONTENT = ("ada", "poet", "secret", "text 10", "cats", "img.example")


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def _gone(key: str, reason: Outcome, subject: Subject = Subject.USER) -> Page:
    return Page(gone=(Gone(subject, key, reason),))


async def _fill(crawled: Crawled) -> None:
    """Ada, who changed her profile and a post; Bob, who passed the post on and quoted it."""
    ada = user("1", handle="ada", description="poet", raw=b'{"name":"ada"}')
    picture = Media(id="m1", kind="photo", url="https://img.example/1.jpg")
    written = post("10", text="secret text 10", tags=("cats",), mentions=("2",), media=(picture,), raw=b'{"text":"secret"}')
    repost = post("11", "2", kind=PostKind.REPOST, repost_of="x:10", text="RT secret", raw=b'{"rt":"secret"}')
    quote = post("12", "2", kind=PostKind.QUOTE, quote_of="x:10", text="look", raw=b'{"quoted":"secret"}')
    await crawled.save(Page(users=(ada,), posts=(written, repost, quote)), TIMELINE, "1")
    again = user("1", handle="ada", description="poet and secret", raw=b'{"name":"ada"}')
    await crawled.save(Page(users=(again,), posts=(post("10", text="secret text 10!"),)), TIMELINE, "1")


async def _everything(crawled: Crawled) -> str:
    """All content of the store as one text."""
    reader = Reader(crawled.database)
    parts = [str(item) async for item in reader.users(with_raw=True)] + [str(item) async for item in reader.posts(with_raw=True)]
    for table in ("user_history", "post_history", "post_tags", "media"):
        parts += [str(tuple(row)) for row in await crawled.rows(f"select * from {table}")]
    return " ".join(parts)


@pytest.mark.parametrize("reason", [Outcome.NOT_FOUND, Outcome.SUSPENDED, Outcome.DEACTIVATED])
async def test_content_of_an_account_the_public_cannot_see_leaves_the_store(crawled: Crawled, reason: Outcome) -> None:
    await _fill(crawled)
    await crawled.save(_gone("1", reason))
    left = await _everything(crawled)
    assert [word for word in CONTENT if word in left] == []
    assert "look" in left
    row = await crawled.row("select reason, since, call, until from unavailable")
    assert (row["reason"], row["since"], row["call"], row["until"]) == (reason.value, micros(crawled.now), 3, None)
    kept = await crawled.row("select id, created_at, deleted_at from posts where id = 'x:10'")
    assert (kept["created_at"], kept["deleted_at"]) == (micros(START), micros(crawled.now))
    assert [r["id"] for r in await crawled.rows("select id from deletions where subject = 'user'")] == ["x:1"]


async def test_a_protected_account_is_marked_but_keeps_its_content(crawled: Crawled) -> None:
    await _fill(crawled)
    await crawled.save(Page(outcome=Outcome.PROTECTED), TIMELINE, "1")
    assert "poet" in await _everything(crawled)
    await crawled.save(Page(users=(user("1", is_protected=True),)))
    assert await crawled.count("unavailable", "until is null") == 1
    await crawled.save(Page(users=(user("1", is_protected=False),)))
    assert await crawled.count("unavailable", "until is null") == 0


async def test_a_blocked_account_is_readable_again_when_its_timeline_is(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1"),)))
    await crawled.save(Page(outcome=Outcome.BLOCKED), TIMELINE, "1")
    await crawled.save(Page(users=(user("1"),)))
    assert await crawled.count("unavailable", "until is null") == 1
    await crawled.save(Page(posts=(post("10"),)), TIMELINE, "1")
    assert await crawled.count("unavailable", "until is null") == 0


async def test_an_absence_has_an_end_and_the_same_news_twice_is_one_absence(crawled: Crawled) -> None:
    await _fill(crawled)
    await crawled.save(_gone("1", Outcome.SUSPENDED))
    await crawled.save(_gone("1", Outcome.SUSPENDED))
    await crawled.save(_gone("1", Outcome.NOT_FOUND))
    await crawled.save(Page(users=(user("1", name="back"),), posts=(post("10", tags=("cats",)),)), TIMELINE, "1")
    rows = await crawled.rows("select reason, until from unavailable order by since")
    assert [(row["reason"], row["until"]) for row in rows] == [("suspended", micros(crawled.now))]
    assert await crawled.count("deletions") == 0
    assert await crawled.count("posts", "id = 'x:10' and deleted_at is null and text is not null") == 1
    assert await crawled.count("post_tags") == 1


@pytest.mark.parametrize("exact", [Outcome.SUSPENDED, Outcome.DEACTIVATED])
@pytest.mark.parametrize("is_vague", [True, False])
async def test_an_account_that_is_just_not_found_keeps_its_exact_reason(crawled: Crawled, exact: Outcome, is_vague: bool) -> None:
    await _fill(crawled)
    await crawled.save(_gone("1", exact), PROFILES, "1")
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.NOT_FOUND, is_vague),)), TIMELINE, "1")
    row = await crawled.row("select reason, until from unavailable")
    assert (row["reason"], row["until"]) == (exact, None)


@pytest.mark.parametrize("is_vague", [True, False])
async def test_the_exact_reason_of_an_absence_may_be_told_later(crawled: Crawled, is_vague: bool) -> None:
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.NOT_FOUND, is_vague),)), PROFILES, "1")
    since = micros(crawled.now)
    await crawled.save(_gone("1", Outcome.SUSPENDED), PROFILES, "1")
    row = await crawled.row("select reason, since, until from unavailable")
    assert (row["reason"], row["since"], row["until"]) == ("suspended", since, None)
    tomb = await crawled.row("select reason, at from deletions")
    assert (tomb["reason"], tomb["at"]) == ("suspended", since)


async def test_a_stream_tells_that_a_deactivated_account_was_deleted(crawled: Crawled) -> None:
    await crawled.hear(_gone("did:a", Outcome.DEACTIVATED))
    await crawled.hear(_gone("did:a", Outcome.NOT_FOUND))
    rows = await crawled.rows("select reason, until from unavailable order by since")
    assert [(row["reason"], row["until"]) for row in rows] == [("deactivated", micros(crawled.now)), ("not_found", None)]


@pytest.mark.parametrize("opts_out", [True, False])
async def test_a_profile_that_was_purged_and_is_seen_again_has_no_history(crawled: Crawled, opts_out: bool) -> None:
    await _fill(crawled)
    await crawled.save(Page(users=(user("1", opts_out=True),)) if opts_out else _gone("1", Outcome.SUSPENDED))
    await crawled.save(Page(users=(user("1", handle="ada", description="poet", opts_out=False),)))
    assert await crawled.count("user_history") == 0
    await crawled.save(Page(users=(user("1", handle="ada", description="poet again"),)))
    assert await crawled.count("user_history") == 1


async def test_the_empty_shell_of_a_suspended_account_is_no_profile(crawled: Crawled) -> None:
    page = Page(users=(user("1", name=""),), gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),))
    saved = await crawled.save(page)
    assert saved.users == ()
    assert await crawled.count("users", "seen_at is null") == 1
    assert await crawled.count("unavailable", "until is null") == 1


async def test_a_deleted_post_keeps_only_its_id_and_time(crawled: Crawled) -> None:
    await _fill(crawled)
    await crawled.save(_gone("10", Outcome.NOT_FOUND, Subject.POST), POSTS, "10")
    left = await _everything(crawled)
    assert [word for word in ("text 10", "cats", "img.example", "RT secret", "quoted") if word in left] == []
    assert ("poet" in left, "look" in left) == (True, True)
    row = await crawled.row("select reason, at from deletions where subject = 'post' and id = 'x:10'")
    assert (row["reason"], row["at"]) == ("not_found", micros(crawled.now))


async def test_a_post_that_was_deleted_before_it_was_known_is_a_tombstone_alone(crawled: Crawled) -> None:
    await crawled.save(_gone("99", Outcome.NOT_FOUND, Subject.POST), POSTS, "99")
    assert (await crawled.count("deletions"), await crawled.count("posts")) == (1, 0)


async def test_a_tombstone_wins_over_an_answer_that_was_on_its_way(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(post("10"),)), TIMELINE, "1")
    asked = crawled.now + timedelta(minutes=1)
    for key in ("10", "11"):
        await crawled.save(_gone(key, Outcome.NOT_FOUND, Subject.POST), POSTS, key)
    await crawled.leased(asked)
    saved = await crawled.save(Page(posts=(post("10"), post("11"))), TIMELINE, "1")
    assert [p.is_new for p in saved.posts] == [False, False]
    assert await crawled.count("posts", "text is not null") == 0
    await crawled.save(Page(posts=(post("10"), post("11"))), TIMELINE, "1")
    assert await crawled.count("posts", "text is not null and deleted_at is null") == 2
    assert await crawled.count("deletions") == 0


async def test_a_profile_that_was_on_its_way_does_not_bring_a_deleted_account_back(crawled: Crawled) -> None:
    await _fill(crawled)
    asked = crawled.now + timedelta(minutes=1)
    await crawled.save(_gone("1", Outcome.NOT_FOUND))
    await crawled.leased(asked)
    await crawled.save(Page(users=(user("1", description="poet"),)))
    assert "poet" not in await _everything(crawled)
    assert await crawled.count("unavailable", "until is null") == 1


async def test_a_federated_post_is_found_by_its_key_when_it_is_deleted(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(toot("5", "ada"),)), TIMELINE, "1", service=FEDIVERSE)
    await crawled.save(_gone("5", Outcome.NOT_FOUND, Subject.POST), POSTS, "5", service=FEDIVERSE)
    assert await crawled.count("posts", "deleted_at is not null and text is null") == 1


async def test_an_account_that_opts_out_is_an_id_and_a_flag(crawled: Crawled) -> None:
    await _fill(crawled)
    await crawled.save(Page(users=(user("1", handle="ada", description="poet", opts_out=True),)))
    left = await _everything(crawled)
    assert [word for word in CONTENT if word in left] == []
    row = await crawled.row("select opts_out, handle from users where id = 'x:1'")
    assert (row["opts_out"], row["handle"]) == (1, None)


async def test_content_of_an_account_that_opted_out_never_enters(crawled: Crawled) -> None:
    hidden = user("1", handle="ada", description="poet", opts_out=True, raw=b"secret")
    written = post("10", text="secret text 10", tags=("cats",), raw=b"secret")
    repost = post("11", "2", kind=PostKind.REPOST, repost_of="x:10", text="RT secret", raw=b"secret")
    for users in ((hidden,), ()):
        await crawled.save(Page(users=users, posts=(written, repost)), TIMELINE, "1")
        left = await _everything(crawled)
        assert [word for word in CONTENT if word in left] == []
    assert await crawled.count("posts") == 2


async def test_an_account_that_opts_in_again_is_collected_again(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", opts_out=True),)))
    await crawled.save(Page(users=(user("1", name="Ada", opts_out=False),), posts=(post("10"),)), PROFILES, "1")
    assert await crawled.count("posts", "text is not null") == 1
    assert (await crawled.row("select name from users"))["name"] == "Ada"
    assert await crawled.count("deletions") == 0


async def test_a_handle_that_nobody_has_any_more_deletes_nobody(crawled: Crawled) -> None:
    await _fill(crawled)
    await crawled.save(_gone("@ada", Outcome.NOT_FOUND), PROFILES, "@ada")
    assert "poet" in await _everything(crawled)
    assert await crawled.count("users", "id like '%@%'") == 0


async def test_copies_leave_however_deep_they_lie_in_what_others_quote_and_pass_on(crawled: Crawled) -> None:
    raw = b'{"inside":"secret"}'
    posts = [post("10", text="secret", raw=raw)]
    posts += [post(str(n), str(n), kind=PostKind.QUOTE, quote_of=f"x:{n - 1}", text="look", raw=raw) for n in (11, 12, 13)]
    posts.append(post("14", "14", kind=PostKind.REPOST, repost_of="x:13", raw=raw))
    await crawled.save(Page(posts=tuple(posts)), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
    assert await crawled.count("posts", "raw is not null or frame is not null") == 0


async def test_a_page_with_a_copy_of_what_is_not_wanted_is_kept_without_it_however_deep(crawled: Crawled) -> None:
    raw = b'{"inside":"secret"}'
    quote = post("11", "2", kind=PostKind.QUOTE, quote_of="x:10", text="look", raw=raw)
    repost = post("12", "3", kind=PostKind.REPOST, repost_of="x:11", raw=raw)
    ada = user("1", opts_out=True)
    await crawled.save(Page(users=(ada,), posts=(post("10", text="secret", raw=raw), quote, repost)), TIMELINE, "1")
    assert await crawled.count("posts") == 3
    assert await crawled.count("posts", "raw is not null or frame is not null") == 0


@pytest.mark.parametrize("way", ["deleted", "never known", "opted out"])
async def test_a_copy_of_what_is_gone_is_not_kept_where_the_page_only_names_the_original(crawled: Crawled, way: str) -> None:
    if way != "never known":
        await crawled.save(Page(users=(user("1", opts_out=way == "opted out"),), posts=(post("10"),)), TIMELINE, "1")
    if way != "opted out":
        await crawled.save(_gone("10", Outcome.NOT_FOUND, Subject.POST), POSTS, "10")
    repost = post("11", "2", kind=PostKind.REPOST, repost_of="x:10", text="RT secret", raw=b'{"rt":"secret"}')
    quote = post("12", "2", kind=PostKind.QUOTE, quote_of="x:10", text="look", raw=b'{"quoted":"secret"}')
    await crawled.save(Page(posts=(repost, quote)), PROFILES, "2")
    left = await _everything(crawled)
    assert ("secret" in left, "look" in left) == (False, True)


async def test_a_repost_that_no_longer_says_of_what_it_is_one_brings_no_copy_back(crawled: Crawled) -> None:
    await _fill(crawled)
    await crawled.save(_gone("10", Outcome.NOT_FOUND, Subject.POST), POSTS, "10")
    bare = post("11", "2", text="RT secret", raw=b'{"rt":"secret"}')
    await crawled.save(Page(posts=(bare,)), PROFILES, "2")
    left = await _everything(crawled)
    assert ("RT secret" in left, '"rt"' in left) == (False, False)
    assert await crawled.count("posts", "id = 'x:11' and repost_of = 'x:10'") == 1
