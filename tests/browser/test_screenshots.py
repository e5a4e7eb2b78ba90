"""The pictures of the documentation: `make screenshots`. Without a folder to put them in, none are made."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page
from served import Served

from bowerbird.web.navigation import AREAS

PICTURES = {area.name.lower(): area.path for area in AREAS} | {
    "steering-new": "/steering/new",
    "steering-credentials": "/steering/credentials",
}
"""By the name of its picture, each page that is shown. A page with something to see adds itself here."""
_WIDTHS = {"": 1280, "-phone": 390}


@pytest.mark.parametrize("name", PICTURES)
def test_screenshots(shared_site: Served, page: Page, pytestconfig: pytest.Config, name: str) -> None:
    folder: Path = pytestconfig.getoption("--screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for ending, width in _WIDTHS.items():
            page.set_viewport_size({"width": width, "height": 860})
            page.goto(shared_site.address(PICTURES[name]), wait_until="load")
            page.wait_for_timeout(700)  # plots are drawn when their numbers have come
            page.screenshot(path=folder / f"{name}-{scheme}{ending}.png")
