"""The pages of work in a real browser: they can be read by everybody, on a phone too, are pushed, and act."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from served import Served

from web_site import CRAWL

PATHS = [
    *(f"/crawls/{CRAWL}{part}" for part in ("", "/limits", "/frontier", "/messages", "/plan")),
    *(f"/work/{part}" for part in ("calls", "timings", "errors", "modules")),
    *(f"/machine/{part}" for part in ("tables", "tables/posts", "statements")),
    f"/completeness/{CRAWL}",
]


@pytest.mark.parametrize("path", PATHS)
def test_pages_of_work_can_be_read_light_and_dark_and_on_a_phone(
    shared_site: Served, page: Page, check_accessibility: Callable[[Page], None], path: str
) -> None:
    page.goto(shared_site.address(path), wait_until="load")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        check_accessibility(page)
    page.set_viewport_size({"width": 360, "height": 700})
    page.reload(wait_until="load")
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0, "a phone would have to scroll sideways"


def test_a_facet_of_the_automaton_leads_to_its_calls(shared_site: Served, page: Page) -> None:
    page.goto(shared_site.address(f"/crawls/{CRAWL}"))
    page.locator(".automaton a", has_text="hashtag").click()
    expect(page).to_have_url(shared_site.address(f"/work/calls?crawl={CRAWL}&facet=hashtag"))
    expect(page.locator("main table.rows tbody tr").first).to_contain_text("hashtag")


def test_a_module_is_run_and_its_run_is_shown(site: Served, page: Page) -> None:
    page.goto(site.address(f"/work/modules/{CRAWL}/growth"))
    runs = page.locator("main table.rows tbody tr")
    before = runs.count()
    page.get_by_role("button", name="Run now").click()
    expect(runs).to_have_count(before + 1)
    expect(page.get_by_role("button", name="Run now")).to_be_visible()
    page.goto(site.address("/machine"))
    expect(page.locator("[data-plot] canvas")).to_be_visible()


def test_completeness_appears_when_it_is_worked_out(site: Served, page: Page) -> None:
    page.goto(site.address(f"/completeness/{CRAWL}"))
    made_at = page.locator(".row .as-of time")
    expect(page.locator(".figure .value").first).to_be_visible()
    before = made_at.get_attribute("datetime")
    page.get_by_role("button", name="Refresh now").click()
    expect(made_at).not_to_have_attribute("datetime", before or "")
