"""A real server on loopback over a small crawled store, and Chromium in front of it.

Every test fails on an error in the console, an uncaught error of a page, or a request that would leave the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from served import Served, Watched

from web_site import Crawled

# A machine may have other work: what is waited for comes, and only a mistake takes so long.
expect.set_options(timeout=60_000)

AXE = Path(__file__).parents[2] / ".cache" / "web" / "node_modules" / "axe-core" / "axe.min.js"
_AXE_RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.id}: ${one.help} (${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join("; ")})`);
}"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chromium", default="/usr/bin/chromium", help="the browser")
    parser.addoption("--screenshots", type=Path, default=None, help="folder for pictures of every page; none are made without")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if collection_path.name == "test_screenshots.py" and config.getoption("--screenshots") is None else None


@pytest.fixture(scope="session")
def browser(pytestconfig: pytest.Config) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=pytestconfig.getoption("--chromium"), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def shared_site(crawled: Crawled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One dashboard for all tests that only look."""
    with Served(crawled.copy(tmp_path_factory.mktemp("site"))) as served:
        yield served


@pytest.fixture
def site(crawled: Crawled, tmp_path: Path) -> Iterator[Served]:
    """A dashboard of the test's own, for those that act."""
    with Served(crawled.copy(tmp_path)) as served:
        yield served


@pytest.fixture
def watched() -> Iterator[Watched]:
    held = Watched()
    yield held
    assert held.left() == []


@pytest.fixture
def context(browser: Browser, watched: Watched) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    opened.set_default_timeout(60_000)
    opened.route("**/*", watched.guard)
    yield opened
    opened.close()


@pytest.fixture
def stranger(context: BrowserContext, watched: Watched) -> Page:
    """A page of somebody who has not come in yet."""
    made = context.new_page()
    watched.attach(made)
    return made


@pytest.fixture
def page(stranger: Page, request: pytest.FixtureRequest) -> Page:
    """A page of somebody who is logged in with every right, to the site of the test's own or else to the shared one."""
    served: Served = request.getfixturevalue("site" if "site" in request.fixturenames else "shared_site")
    served.enter(stranger)
    return stranger


@pytest.fixture
def check_accessibility() -> Callable[[Page], None]:
    """Runs axe-core on what a page shows once it loads itself no more; serious findings fail the test."""

    def check(page: Page) -> None:
        # What is worked out in the background ends with a page that loads itself anew, in the middle of a check if need be.
        expect(page.locator("[data-again]")).to_have_count(0)
        # Not as a script of the page, which its content policy would refuse.
        page.evaluate(AXE.read_text("utf-8") + "; undefined")
        assert page.evaluate(_AXE_RUN) == []

    return check
