"""What networks say is text on every page, however it is spelled, and stays in its place."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from served import Served

from bowerbird.evaluate.web.browser import ALIVE, HEAR
from bowerbird.evaluate.web.marking import RIGHT_TO_LEFT, mark
from bowerbird.ports import Transaction

_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def marked(site: Served, page: Page) -> Page:
    """A page over a store in which every text is markup."""
    site.do(_marked(site))
    page.add_init_script(HEAR)
    return page


async def _marked(served: Served) -> None:
    await mark(served.needed.database)


async def _first(served: Served, statement: str) -> str:
    async with served.needed.database.reading() as tx:
        row = await tx.fetch_one(statement)
    assert row is not None
    return str(row["it"])


def test_a_script_in_a_post_is_shown_and_does_not_run(site: Served, marked: Page) -> None:
    post = site.do(_first(site, "select id as it from posts where text like '%</script>%' and deleted_at is null limit 1"))
    marked.goto(site.address(f"/posts/{_quoted(post)}"))
    expect(marked.get_by_text("<script>bowerbird_marked()</script>").first).to_be_visible()
    assert marked.evaluate(ALIVE) == []


def test_a_name_of_ten_thousand_characters_from_right_to_left_stays_in_its_place(site: Served, marked: Page) -> None:
    async def rename() -> str:
        async with site.needed.database.transaction() as tx:
            return await _renamed(tx)

    user = site.do(rename())
    for width in (1280, 360):
        marked.set_viewport_size({"width": width, "height": 800})
        for path in (f"/users/{_quoted(user)}", "/data/users"):
            marked.goto(site.address(path))
            expect(marked.locator("h1")).to_be_visible()
            assert marked.evaluate(_WIDER) <= 0, (path, width)
            heading = marked.locator("h1").bounding_box()
            assert heading is not None
            assert heading["height"] < 400, path
    assert marked.evaluate(ALIVE) == []


async def _renamed(tx: Transaction) -> str:
    await tx.execute("update users set name = ? where user_no = 1", RIGHT_TO_LEFT)
    row = await tx.fetch_one("select id from users where user_no = 1")
    assert row is not None
    return str(row["id"])


def _quoted(text: str) -> str:
    return quote(text, safe="")
