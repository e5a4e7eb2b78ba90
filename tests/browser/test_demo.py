"""The first five minutes of a newcomer: `bowerbird demo --dashboard`, and something to see on every page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Page
from running_demo import running_demo
from served import Served

PAGES = [
    "/", "/crawls/demo", "/crawls/event", "/crawls/portugal", "/crawls/portugal/limits", "/crawls/portugal/frontier",
    "/crawls/portugal/messages", "/work", "/work/calls", "/work/timings", "/work/modules", "/work/modules/portugal/growth",
    "/machine", "/machine/tables", "/machine/statements", "/data/posts", "/data/users", "/data/relations", "/data/media",
    "/figures", "/figures/top", "/figures/influence", "/figures/accounts", "/figures/languages", "/figures/map",
    "/community/portugal", "/community/portugal/members", "/community/portugal/undecided", "/community/portugal/decide/undecided",
    "/keywords/event",
    "/completeness/demo", "/steering", "/steering/credentials",
]  # fmt: skip
_TRIES = 60
pytestmark = pytest.mark.timeout(1_200)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running_demo(tmp_path_factory.mktemp("demo"), timedelta(seconds=30)) as served:
        yield served


def test_every_page_has_something_to_show(site: Served, page: Page) -> None:
    assert [path for path in PAGES if not _has_content(page, site.address(path))] == []


def _has_content(page: Page, address: str) -> bool:
    """Whether a page has come to show something: what is counted in the background, or by a module, takes its time."""
    for _ in range(_TRIES):
        answer = page.goto(address, wait_until="load")
        assert answer is not None
        assert answer.ok, address
        if page.locator("main .empty").count() == 0 and page.get_by_text("There are no numbers yet").count() == 0:
            return True
        page.wait_for_timeout(2_000)
    return False
