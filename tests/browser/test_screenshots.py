"""The pictures of the documentation: `make screenshots`. Without a folder to put them in, none are made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image
from playwright.sync_api import Page
from served import Served

PICTURES = {
    "overview": "/",
    "crawl": "/crawls/demo",
    "workers": "/work",
    "posts": "/data/posts",
    "users": "/data/users",
    "figures": "/figures",
    "figures-top": "/figures/top",
    "figures-accounts": "/figures/accounts",
    "completeness": "/completeness/demo",
    "steering": "/steering",
}
"""By the name of its picture, each page that is shown, of the demo while it runs; none that names files of the machine."""
ON_A_PHONE = ("overview", "posts")
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_COLOURS = 128
_ENOUGH = 12_000
"""Items of the demo, after which there is something to see."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The dashboard of a demo that runs."""
    home = tmp_path_factory.mktemp("demo")
    demo = subprocess.Popen(
        [sys.executable, "-m", "bowerbird", "demo", "--dashboard", "--no-open", "--port", "0", "--seconds", "600", "--json"],
        env={**os.environ, "BOWERBIRD_HOME": str(home)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert demo.stderr is not None
        told = (line for line in demo.stderr if '"items": ' in line)
        next(line for line in told if int(line.partition('"items": ')[2].partition(",")[0]) > _ENOUGH)
        with Served(home / "data" / "demo" / "demo.db", "demo.db") as served:
            yield served
    finally:
        demo.send_signal(signal.SIGTERM)
        demo.communicate(timeout=60)


@pytest.mark.parametrize("name", PICTURES)
def test_screenshots(site: Served, page: Page, pytestconfig: pytest.Config, name: str) -> None:
    folder: Path = pytestconfig.getoption("--screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in _SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width, ending in ((1280, ""), (390, "-phone")):
            if width == 1280 or name in ON_A_PHONE:
                page.set_viewport_size({"width": width, "height": 860})
                page.goto(site.address(PICTURES[name]), wait_until="load")
                page.wait_for_timeout(1_000)  # plots are drawn when their numbers have come
                _keep(page, folder / f"{name}-{scheme}{ending}.png")


def _keep(page: Page, file: Path) -> None:
    """As a picture of few colours: a third of the size, and nobody sees the difference."""
    page.screenshot(path=file)
    with Image.open(file) as shown:
        shown.convert("RGB").quantize(_COLOURS).save(file, optimize=True)
