"""Every area in a real browser: it opens, can be read by everybody, and goes by the keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from served import Served

from bowerbird.web.navigation import AREAS

PATHS = [*(area.path for area in AREAS), "/help"]


@pytest.mark.parametrize("path", PATHS)
def test_every_area_can_be_read_light_and_dark_and_on_a_phone(
    shared_site: Served, page: Page, check_accessibility: Callable[[Page], None], path: str
) -> None:
    page.goto(shared_site.address(path), wait_until="load")
    expect(page.locator("h1")).to_be_visible()
    page.emulate_media(color_scheme="light")
    check_accessibility(page)
    page.emulate_media(color_scheme="dark")
    check_accessibility(page)
    page.set_viewport_size({"width": 360, "height": 700})
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0, "a phone would have to scroll sideways"


def test_keys_lead_to_every_area_and_to_the_help(shared_site: Served, page: Page) -> None:
    page.goto(shared_site.address("/"))
    for area in AREAS[1:]:
        page.keyboard.press("g")
        with page.expect_navigation():
            page.keyboard.press(area.key)
        expect(page.locator(".areas a[aria-current]")).to_have_text(area.name)
    page.keyboard.press("?")
    expect(page.locator("h1")).to_have_text("Help")


def test_light_and_dark_are_switched_and_remembered(shared_site: Served, page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(shared_site.address("/help"))
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light
