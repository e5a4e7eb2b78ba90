"""`[consent] deleted = "keep"`: the content stays, marked, and leaves the store in no export that does not say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from store_pages import FEDIVERSE, FOLLOWING, OTHER, POSTS, TIMELINE, Crawled, federated, post, toot, user

from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.jobs.manifest import Source
from bowerbird.export.jobs.request import Request, export
from bowerbird.flows.consent import Consent
from bowerbird.model import Gone, Media, Outcome, Page, PostKind, Relation, RelationKind, Subject
from bowerbird.ports import Database
from bowerbird.reports.blocks.networks import NetworkReader
from bowerbird.reports.blocks.selection.choosing import Choice
from bowerbird.reports.browsing.lines import browse_posts, browse_users
from bowerbird.reports.browsing.pages import Ask
from bowerbird.reports.histories.changes import find_history
from bowerbird.reports.reader import Reader
from bowerbird.store.absences.forgetting import forget_as_in
from bowerbird.store.forgetting.requests import Forgetter, Wish
from failures import raises_code

KEEPS = Consent(deleted="keep", reason="a mandate")
_JUDGED = "insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call)"


_ABOUT = (
    ("insert into crawls (crawl, name, flow, settings, state, wanted, created_at, updated_at) "
    "values (1, 'a', '', '', '', '', 0, 0)"),
    "insert into candidates (crawl, user_no, source, state, found_at) select 1, user_no, 'mentions', 'valid', 1 from users",
    ("insert into label_samples (crawl, judge, said, place, user_no, drawn_at) "
    "select 1, 'community', 'yes', user_no, user_no, 1 from users"),
    "insert into labels (crawl, judge, user_no, who, label, at) select 1, 'community', user_no, 'eva', 'yes', 1 from users",
)  # fmt: skip


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    """Ada and Bob write; one post of Ada is deleted, and Bob is suspended."""
    found = await Crawled(database, consent=KEEPS).register()
    ada, bob = user("1", handle="ada"), user("2", handle="bob", description="about bob")
    shown = Media(id="m1", kind="photo", url="https://img.example/1")
    posts = (post("10", text="deleted words", media=(shown,), raw=b'{"n":10}'), post("11", text="words that stay"))
    await found.save(Page(users=(ada,), posts=posts), TIMELINE, "1")
    passed_on = post("21", "2", kind=PostKind.REPOST, repost_of="x:11", text=None)
    await found.save(Page(users=(bob,), posts=(post("20", "2", text="words of bob"), passed_on)), TIMELINE, "2")
    await found.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
    await found.save(Page(gone=(Gone(Subject.USER, "2", Outcome.SUSPENDED),)))
    return found


async def exported(crawled: Crawled, out: Path, what: str = "posts", *, deleted: bool = False, raw: bool = False) -> list[Any]:
    request = Request(what=what, out=str(out), choice=Choice(deleted=deleted), raw=raw)
    await export(crawled.database, request, Source("a store", 1), RealClock())
    return _lines(out)


def _lines(out: Path) -> list[Any]:
    return [json.loads(line) for line in out.read_text().splitlines()]


async def test_content_stays_and_is_marked_with_time_and_reason(crawled: Crawled) -> None:
    rows = await crawled.rows("select id, text, deleted_at from posts where deleted_at is not null order by id")
    assert [(row["id"], row["text"]) for row in rows] == [("x:10", "deleted words"), ("x:20", "words of bob"), ("x:21", None)]
    assert await crawled.count("media") == 1
    assert await crawled.count("posts", "id = 'x:10' and (raw is not null or frame is not null)") == 1
    told = await crawled.rows("select id, reason from deletions order by id")
    assert [(row["id"], row["reason"]) for row in told] == [("x:10", "not_found"), ("x:2", "suspended")]


async def test_exports_and_views_leave_it_out_unless_they_are_told_otherwise(crawled: Crawled, tmp_path: Path) -> None:
    assert [row["id"] for row in await exported(crawled, tmp_path / "a.jsonl")] == ["x:11"]
    assert [row["handle"] for row in await exported(crawled, tmp_path / "u.jsonl", "users")] == ["ada"]
    assert await exported(crawled, tmp_path / "m.jsonl", "media") == []
    assert await crawled.count("v_posts") == await crawled.count("v_users") == 1
    everything = await exported(crawled, tmp_path / "b.jsonl", deleted=True)
    marks = {row["id"]: row.get("deleted_why") for row in everything}
    assert marks == {"x:10": "not_found", "x:11": None, "x:20": "suspended", "x:21": "suspended"}
    assert {bool(row.get("deleted_at")) for row in everything if row["id"] != "x:11"} == {True}
    sent = await exported(crawled, tmp_path / "r.jsonl", deleted=True, raw=True)
    assert {"n": 10} in sent
    people = await exported(crawled, tmp_path / "v.jsonl", "users", deleted=True)
    assert [(row["handle"], row.get("deleted_why")) for row in people] == [("ada", None), ("bob", "suspended")]
    manifest = json.loads((tmp_path / "b.jsonl.manifest.json").read_text())
    assert manifest["options"]["choice"] == {"deleted": True}
    with raises_code(UserError, "unsupported") as caught:
        await exported(crawled, tmp_path / "f.jsonl", "follows", deleted=True)
    assert "follows" in caught.value.problem
    assert "--deleted" in caught.value.advice


async def test_who_looks_through_the_store_sees_that_something_is_gone_and_not_what(crawled: Crawled) -> None:
    posts = (await browse_posts(crawled.database, Ask())).lines
    assert sorted((line.id, line.text is None, line.deleted_at is None) for line in posts) == [
        ("x:10", True, False),
        ("x:11", False, True),
        ("x:20", True, False),
        ("x:21", True, False),
    ]
    people = (await browse_users(crawled.database, Ask())).lines
    assert {line.id: line.handle for line in people} == {"x:1": "ada", "x:2": None}


async def test_candidates_and_labels_are_told_of_nobody_who_is_gone(crawled: Crawled, tmp_path: Path) -> None:
    async with crawled.database.transaction() as tx:
        for statement in _ABOUT:
            await tx.execute(statement)
    for what in ("candidates", "labels"):
        assert [row["handle"] for row in await exported(crawled, tmp_path / f"{what}.jsonl", what)] == ["ada"]
        assert await crawled.count(f"v_{what}") == 1


async def test_follows_name_nobody_who_is_gone(crawled: Crawled, tmp_path: Path) -> None:
    relation = Relation(kind=RelationKind.FOLLOW, source="1", target="2")
    await crawled.save(Page(relations=(relation,)), FOLLOWING, "1")
    (told,) = await exported(crawled, tmp_path / "f.jsonl", "follows")
    assert (told["source_handle"], told["target_id"], told["target_handle"]) == ("ada", "x:2", None)
    numbers = [row["user_no"] for row in await crawled.rows("select user_no from users order by id")]
    names = await NetworkReader(crawled.database, "follow", Choice()).names(numbers)
    assert [names[number][1] for number in numbers] == ["ada", None]
    everything = await exported(crawled, tmp_path / "p.jsonl", deleted=True)
    assert {row["author_handle"] for row in everything} == {"ada", "bob"}


async def test_histories_and_judgements_tell_nothing_of_it(database: Database, tmp_path: Path) -> None:
    crawled = await Crawled(database, consent=KEEPS).register()
    for version in ("first", "second"):
        said = user("1", handle="ada", description=f"{version} about"), post("10", text=f"{version} words")
        await crawled.save(Page(users=said[:1], posts=said[1:]), TIMELINE, "1")
    async with database.transaction() as tx:
        values = "'somewhere', 'place', 1, 1, '{}', '1', 1, 1"
        await tx.execute(f"{_JUDGED} values ('place', 'user', 'x:1', {values}), ('place', 'post', 'x:10', {values})")
    reader = Reader(database)
    assert len(await reader.user_history("x:1")) == len(await reader.users_by_handle("ada")) == 1
    assert len(await exported(crawled, tmp_path / "a.jsonl", "judgements")) == 2
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)))
    assert await crawled.count("post_history") == await crawled.count("user_history") == 1
    assert await reader.user_history("x:1") == await reader.users_by_handle("ada") == []
    told = [change for text in ("x:1", "x:10") for each in await find_history(database, text) for change in each.changes]
    assert {change.what for change in told} == {"found", "gone", "deleted"}
    assert await exported(crawled, tmp_path / "b.jsonl", "judgements") == []
    assert await crawled.count("v_judgements") == 0


async def test_whoever_opts_out_or_is_forgotten_leaves_all_the_same(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", opts_out=True),)))
    assert await crawled.count("posts", "author = 1 and text is not null") == 0
    bob = (await crawled.rows("select user_no from users where id = 'x:2'"))[0]["user_no"]
    await Forgetter(crawled.database, RealClock()).forget(Wish(who="bob", why="asked", users=frozenset({bob})))
    assert await crawled.count("posts", "text is not null") == 0
    assert await crawled.count("users", "id = 'x:2'") == 0


async def test_a_store_that_is_made_like_another_loses_what_is_deleted_there(crawled: Crawled) -> None:
    forgotten = await forget_as_in(crawled.database, crawled.database, RealClock())
    assert (forgotten.users, forgotten.posts) == (1, 1)
    assert await crawled.count("posts", "deleted_at is not null and (text is not null or raw is not null)") == 0
    assert await crawled.count("users", "id = 'x:2' and handle is not null") == 0
    assert await crawled.count("posts", "text = 'words that stay'") == 1


async def test_what_is_shown_again_is_no_longer_marked(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(post("10", text="deleted words"),)), TIMELINE, "1")
    assert await crawled.count("posts", "id = 'x:10' and deleted_at is null") == 1


async def test_pictures_without_words_are_kept_and_leave_with_their_author(database: Database, tmp_path: Path) -> None:
    crawled = await Crawled(database, consent=KEEPS).register()
    shown = Media(id="m1", kind="photo", url="https://img.example/1")
    picture = post("10", text=None, media=(shown,), raw=b'{"n":10}')
    await crawled.save(Page(users=(user("1"),), posts=(picture,)), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
    assert [row["id"] for row in await exported(crawled, tmp_path / "a.jsonl", deleted=True)] == ["x:10"]
    await crawled.save(Page(users=(user("1", opts_out=True),)))
    assert await crawled.count("media") == await crawled.count("posts", "raw is not null or frame is not null") == 0


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_wish_that_another_server_shows_erases_what_it_told(database: Database, is_deleted: bool) -> None:
    crawled = await Crawled(database, consent=KEEPS).register()
    await crawled.save(Page(users=(federated("ada", "1"),)), service=OTHER)
    await crawled.save(Page(users=(federated("ada", "1"),), posts=(toot("10", "ada"),)), TIMELINE, "1", service=FEDIVERSE)
    if is_deleted:
        await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10", service=FEDIVERSE)
    assert await crawled.count("posts", "text is not null") == 1
    await crawled.save(Page(users=(federated("ada", "1", opts_out=True),)), TIMELINE, "1", service=FEDIVERSE)
    assert await crawled.count("posts", "text is not null") == 0
