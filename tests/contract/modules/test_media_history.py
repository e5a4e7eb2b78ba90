"""Pictures and films of a post keep a history of what changed about them. On both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from store_pages import POSTS, SKY, Crawled, X, post, skeet

from bowerbird.model import Gone, Media, Outcome, Page, Subject
from bowerbird.ports import Database
from bowerbird.reports.histories.changes import find_history

CAT = Media(id="m1", kind="image", url="https://a.example/cat.jpg?sig=1", description="a cat")
DOG = Media(id="m2", kind="image", url="https://a.example/dog.jpg")


def with_media(*media: Media, text: str = "words") -> Page:
    return Page(posts=(post("10", text=text, media=media),))


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def steps(crawled: Crawled) -> list[tuple[Any, Any]]:
    rows = await crawled.rows("select before, after from post_history order by at, call")
    return [(json.loads(row["before"]), json.loads(row["after"])) for row in rows]


async def shown(crawled: Crawled) -> list[tuple[str, str, str | None]]:
    return [(row["id"], row["url"], row["description"]) for row in await crawled.rows("select * from media order by place")]


async def test_another_description_is_kept_and_the_row_is_current(crawled: Crawled) -> None:
    await crawled.save(with_media(CAT), POSTS, "10")
    told = Media(id="m1", kind="image", url=CAT.url, description="a cat that sleeps")
    await crawled.save(with_media(told), POSTS, "10")
    ((before, after),) = await steps(crawled)
    assert [each["description"] for each in before["media"]] == ["a cat"]
    assert [each["description"] for each in after["media"]] == ["a cat that sleeps"]
    assert await shown(crawled) == [("m1", CAT.url, "a cat that sleeps")]
    (history,) = await find_history(crawled.database, "x:10")
    assert [change.field for change in history.changes if change.what == "post"] == ["media"]


async def test_a_picture_that_an_edit_took_away_is_kept_in_history(crawled: Crawled) -> None:
    await crawled.save(Page(posts=(skeet("10", text="two", media=(CAT, DOG)),)), POSTS, "10", service=SKY)
    await crawled.save(Page(posts=(skeet("10", text="one", media=(DOG,)),)), POSTS, "10", service=SKY)
    media = [(before["media"], after["media"]) for before, after in await steps(crawled) if "media" in before]
    assert [([each["id"] for each in was], [each["id"] for each in now]) for was, now in media] == [(["m1", "m2"], ["m2"])]
    assert [each[0] for each in await shown(crawled)] == ["m2"]


async def test_another_signature_or_host_an_untold_description_and_a_shorter_view_are_no_change(crawled: Crawled) -> None:
    await crawled.save(with_media(CAT, DOG), POSTS, "10")
    again = Media(id="m1", kind="image", url="https://b.example/cat.jpg?sig=2")
    await crawled.save(with_media(again, DOG), POSTS, "10")
    await crawled.save(with_media(CAT), POSTS, "10")
    await crawled.save(with_media(), POSTS, "10")
    assert await steps(crawled) == []
    assert [each[0] for each in await shown(crawled)] == ["m1", "m2"]


async def test_the_history_of_media_leaves_with_the_post(crawled: Crawled) -> None:
    await crawled.save(with_media(CAT), POSTS, "10")
    await crawled.save(with_media(DOG), POSTS, "10")
    assert len(await steps(crawled)) == 1
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10", service=X)
    assert await steps(crawled) == []
    assert await shown(crawled) == []
