"""The data pages in a browser: searched, sorted, saved, looked through, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from served import Served, Watched

from web_site import TAG

Check = Callable[[Page], None]


@pytest.mark.parametrize("path", ["/data/posts", "/data/users", "/data/relations", "/data/media", "/data/saved"])
def test_lists_are_accessible_and_fit_a_phone(shared_site: Served, page: Page, check_accessibility: Check, path: str) -> None:
    page.goto(shared_site.address(path))
    check_accessibility(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1")


def test_from_a_search_to_a_post_to_its_author(shared_site: Served, page: Page, check_accessibility: Check) -> None:
    page.goto(shared_site.address("/data/posts"))
    page.get_by_label("Words or #hashtags").fill(f"#{TAG}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**q=%23{TAG}**")
    rows = page.locator("table.rows tbody tr")
    rows.first.locator("td.text a").click()
    expect(page.get_by_role("heading", name="Which call brought it")).to_be_visible()
    check_accessibility(page)
    page.locator(".main-post header a.handle").click()
    expect(page.get_by_role("heading", name="When it writes")).to_be_visible()
    check_accessibility(page)


def test_a_row_is_opened_by_keys_as_the_post_that_it_shows(shared_site: Served, page: Page) -> None:
    page.goto(shared_site.address("/data/posts"), wait_until="load")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/posts/**")
    expect(page.get_by_role("heading", name="Which call brought it")).to_be_visible()


def test_the_slash_leads_to_the_search_of_words_and_rows_lie_on_their_sheet(shared_site: Served, page: Page) -> None:
    page.goto(shared_site.address("/data/posts"))
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    colour = "(of) => getComputedStyle(document.querySelector(of)).backgroundColor"
    assert page.evaluate(colour, ".sheet") == page.evaluate(colour, "#keep")


def test_a_search_is_sorted_paged_saved_and_deleted(site: Served, page: Page) -> None:
    page.goto(site.address("/data/posts?size=25"))
    page.get_by_role("link", name="likes").click()
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("likes")
    first = page.locator("table.rows tbody tr td.text").first.inner_text()
    page.get_by_role("link", name="Next →").click()
    page.wait_for_url("**after=**")
    assert page.locator("table.rows tbody tr td.text").first.inner_text() != first
    page.get_by_label("Save this search as").fill("most liked")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="most liked").click()
    page.wait_for_url("**sort=likes**")
    page.goto(site.address("/data/saved"))
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(page.locator("main .empty")).to_be_visible()
    expect(page.get_by_role("link", name="most liked")).to_have_count(0)


def test_a_download_is_a_file_of_the_rows_that_are_shown(shared_site: Served, page: Page) -> None:
    page.goto(shared_site.address(f"/data/posts?q=%23{TAG}"))
    with page.expect_download() as told:
        page.get_by_role("link", name="Download CSV").click()
    assert told.value.suggested_filename.startswith("posts-")
    assert len(told.value.path().read_text().splitlines()) > 1


def test_what_is_not_known_is_said(shared_site: Served, page: Page, watched: Watched) -> None:
    watched.expect("400")
    page.goto(shared_site.address("/data/posts?user=nobody"))
    expect(page.locator("[role=alert][data-error=unknown_account]")).to_contain_text("nobody")
    page.goto(shared_site.address("/data/posts?q=nothingofthekind"))
    expect(page.locator("main .empty")).to_be_visible()
    expect(page.locator("main table.rows tbody tr")).to_have_count(0)
