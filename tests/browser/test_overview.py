"""The first page in a real browser: pushed while it changes, calm when the database is away, and led by the keyboard."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect
from served import Served, Watched

from bowerbird.errors import Failure
from bowerbird.ports import Database


async def _fail(database: Database) -> None:
    async with database.transaction() as tx:
        full = Failure("disk_full", "the <script>alert(1)</script> disk is full")
        await tx.execute("update crawls set state = 'failed', reason = ?", full.to_json())


def test_what_changes_is_pushed_without_loading_the_page_again(site: Served, page: Page) -> None:
    page.goto(site.address("/"), wait_until="load")
    expect(page.locator("table.rows .state").first).to_have_text("finished")
    page.evaluate("window.marked = true")
    assert site.site is not None
    site.do(_fail(site.site.database))
    expect(page.locator(".needs li.bad")).to_contain_text("the <script>alert(1)</script> disk is full")
    expect(page.locator("table.rows .state").first).to_have_text("failed")
    assert page.evaluate("window.marked"), "the page was not loaded again"


def test_a_database_that_is_away_gives_a_calm_page_that_tries_again(site: Served, page: Page, watched: Watched) -> None:
    watched.expect("503")
    page.goto(site.address("/"), wait_until="load")
    store = Path(site.store)
    store.rename(store.with_suffix(".away"))
    page.goto(site.address("/"))
    expect(page.locator("[data-error]")).to_have_attribute("data-error", re.compile("^database_"))
    store.with_suffix(".away").rename(store)
    expect(page.locator("[data-error]")).to_have_count(0)
    expect(page.locator("table.rows a[href='/crawls/laboratory']").first).to_be_visible()


def test_a_command_can_be_copied_and_rows_are_reached_by_keys(site: Served, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(site.address("/data/posts"), wait_until="load")
    page.get_by_role("button", name="Copy the command").first.click()
    assert any(_copied(page).startswith("bowerbird ") for _ in range(100))
    page.goto(site.address("/"), wait_until="load")
    assert _reached_by_key(page) == "/crawls/laboratory"


def test_a_row_that_is_pushed_anew_keeps_the_focus(site: Served, page: Page) -> None:
    page.goto(site.address("/"), wait_until="load")
    page.locator("table.rows a[href='/crawls/laboratory']").nth(1).focus()
    page.evaluate("window.marked = document.activeElement")
    assert site.site is not None
    site.do(_fail(site.site.database))
    expect(page.locator("table.rows .state").first).to_have_text("failed")
    assert page.evaluate("!window.marked.isConnected"), "it was replaced"
    expect(page.locator("table.rows a[href='/crawls/laboratory']").nth(1)).to_be_focused()


def _copied(page: Page) -> str:
    """What was copied by now. Asked again and again from here: a page whose policy forbids it cannot wait for a condition."""
    page.wait_for_timeout(50)
    return str(page.evaluate("() => navigator.clipboard.readText()"))


def _reached_by_key(page: Page) -> str | None:
    page.keyboard.press("j")
    href: str | None = page.evaluate("document.activeElement.getAttribute('href')")
    return href
