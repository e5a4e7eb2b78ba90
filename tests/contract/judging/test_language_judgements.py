"""Labels of languages and varieties are stored with their evidence, on both databases."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from store_pages import TIMELINE, Crawled

from bowerbird.analysis.language_labels import create_classifiers
from bowerbird.analysis.variety import VERSION
from bowerbird.model import Judged, Page, Post, Subject, User
from bowerbird.ports import Database
from bowerbird.store import Store
from bowerbird.store.judgements.judging import JudgingStore
from language_posts import BRAZILIAN, ENGLISH, EUROPEAN

ADA = User(id="x:1", key="1", handle="ada", description="")


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    made = await Crawled(database).register()
    made.store = JudgingStore(Store(database), database, create_classifiers({"language", "variety"}))  # type: ignore[assignment]
    return made


def page(first: int, texts: Sequence[str]) -> Page:
    keys = [str(first + number) for number in range(len(texts))]
    return Page(
        users=(ADA,),
        posts=tuple(Post(id=f"x:{key}", key=key, author="x:1", text=text) for key, text in zip(keys, texts, strict=True)),
    )


async def values(crawled: Crawled) -> dict[str, set[str]]:
    rows = await crawled.rows("select judge, value from judgements where subject = 'user' order by judge, value")
    return {judge: {row["value"] for row in rows if row["judge"] == judge} for judge in ("language", "variety")}


async def test_accounts_are_labelled_by_a_page_of_their_posts(crawled: Crawled) -> None:
    saved = await crawled.save(page(10, EUROPEAN), TIMELINE, "1")
    assert {Judged("language", "pt"), Judged("variety", "pt-PT")} <= saved.judged[Subject.USER, "x:1"]
    (row,) = await crawled.rows("select evidence, version from judgements where judge = 'variety' and subject = 'user'")
    assert "progressive-infinitive" in json.loads(row["evidence"])["hints"]
    assert row["version"] == VERSION


async def test_labels_by_more_posts_replace_labels_by_fewer(crawled: Crawled) -> None:
    await crawled.save(page(10, BRAZILIAN), TIMELINE, "1")
    assert await values(crawled) == {"language": {"pt"}, "variety": {"pt-BR"}}
    await crawled.save(page(100, EUROPEAN * 5), TIMELINE, "1")
    assert await values(crawled) == {"language": {"pt"}, "variety": {"pt-PT"}}
    await crawled.save(page(200, ENGLISH), TIMELINE, "1")
    assert await values(crawled) == {"language": {"pt"}, "variety": {"pt-PT"}}
