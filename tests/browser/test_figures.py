"""Figures in a real browser: everything is drawn, numbers stand in tables too, words are studied and labelled by keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from served import Served, Watched

from bowerbird.clock import RealClock
from bowerbird.modules.statistics.preparing import Preparing

DRAWN = {
    "/figures": 2, "/figures/accounts": 1, "/figures/languages": 1,
}  # fmt: skip
"""Pages, and how many plots each has."""
OTHERS = ("/figures/top", "/figures/top?what=author", "/figures/influence", "/figures/map", "/figures/friends", "/figures/words")


@pytest.fixture(scope="session")
def counted(shared_site: Served) -> Served:
    """The site that all share, with its numbers made."""
    assert shared_site.site is not None
    shared_site.do(Preparing(shared_site.site.database, RealClock(), rest=0).run())
    return shared_site


@pytest.mark.parametrize("path", DRAWN)
def test_plots_are_drawn_and_told_as_tables(
    counted: Served, page: Page, check_accessibility: Callable[[Page], None], path: str
) -> None:
    page.goto(counted.address(path))
    expect(page.locator(".plot canvas")).to_have_count(DRAWN[path])
    page.locator(".plot summary").first.click()
    expect(page.locator(".plot details table").first).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        check_accessibility(page)
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_a_stretch_of_time_and_a_scale_are_chosen_and_kept(
    counted: Served, page: Page, check_accessibility: Callable[[Page], None]
) -> None:
    page.goto(counted.address("/figures"))
    form = page.locator("form.range")
    expect(form.get_by_label("From (UTC)")).to_be_hidden()
    form.locator("[name=span]").select_option("between")
    form.get_by_label("From (UTC)").fill("2026-01-01T00:00")
    form.get_by_label("Log scale").check()
    check_accessibility(page)
    form.get_by_role("button").click()
    expect(page).to_have_url(re.compile("span=between&from=2026-01-01T00"))
    expect(page.locator(".plot canvas")).to_have_count(2)
    page.get_by_role("link", name="hour", exact=True).click()
    expect(page).to_have_url(re.compile("unit=hour&span=between.*log=yes"))
    expect(page.locator("form.range").get_by_label("From (UTC)")).to_have_value("2026-01-01T00:00")
    expect(page.locator("form.range [name=unit]")).to_have_value("hour")


@pytest.mark.parametrize("path", OTHERS)
def test_every_page_of_figures_can_be_read_by_everybody(
    counted: Served, page: Page, watched: Watched, check_accessibility: Callable[[Page], None], path: str
) -> None:
    watched.expect("GL Driver Message")
    page.goto(counted.address(path), wait_until="load")
    expect(page.locator("h1")).to_be_visible()
    check_accessibility(page)
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_the_graph_around_an_account_is_drawn(counted: Served, page: Page, watched: Watched) -> None:
    # The browser of a machine without graphics says how slow it is.
    watched.expect("GL Driver Message")
    page.goto(counted.address("/figures/top?what=author"))
    page.get_by_role("link", name="around", exact=True).first.click()
    expect(page.locator("h1")).to_contain_text("Around @")
    expect(page.locator(".plot canvas").first).to_be_visible()


def test_new_numbers_are_made_when_somebody_asks(site: Served, page: Page) -> None:
    page.goto(site.address("/figures"))
    page.get_by_role("button", name="Refresh now").click()
    expect(page.locator(".counting .as-of time")).to_be_visible()


def test_words_are_studied_beside_a_series_and_labelled_by_keys(site: Served, page: Page, tmp_path: Path) -> None:
    page.goto(site.address("/figures/words"))
    page.get_by_label("Words and phrases").fill("music\nfootball\nnews\nthe\na")
    page.get_by_role("combobox").select_option("hour")
    page.get_by_role("button", name="Look through the posts").click()
    expect(page.locator(".as-of").first).to_contain_text("Show the newest")
    page.reload()
    expect(page.locator(".figure", has_text="References")).to_be_visible()
    expect(page.locator(".plot canvas")).to_have_count(1)
    series = tmp_path / "share.csv"
    series.write_text("hour,share\n" + "".join(f"2026-01-05 {hour:02}:00,{hour % 7}\n" for hour in range(24)))
    page.get_by_label("CSV file").set_input_files(series)
    page.get_by_role("button", name="Upload").click()
    expect(page.locator(".plot canvas")).to_have_count(3)
    with page.expect_navigation():
        page.get_by_role("link", name="Label posts").click()
    for done, key in enumerate("ynu"):
        expect(page.locator(".figure", has_text="Yours")).to_contain_text(re.compile(rf"{done} of \d+"))
        with page.expect_navigation():
            page.keyboard.press(key)
    expect(page.locator(".figure", has_text="Precise")).to_contain_text("50.0 %")
    expect(page.locator(".figure", has_text="Unsure")).to_contain_text("1")


def test_a_file_that_is_no_series_is_refused_with_its_line(site: Served, page: Page, watched: Watched, tmp_path: Path) -> None:
    watched.expect("400")
    page.goto(site.address("/figures/words"))
    page.get_by_label("Words and phrases").fill("music")
    page.get_by_role("button", name="Look through the posts").click()
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("2026-01-05,1\n05/01/2026,2\n")
    page.get_by_label("CSV file").set_input_files(wrong)
    page.get_by_role("button", name="Upload").click()
    expect(page.locator("[data-error=invalid]")).to_contain_text("'05/01/2026'")
    expect(page.locator("[data-error=invalid]")).to_contain_text("line 2")
