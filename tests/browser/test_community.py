"""A community in a real browser: pages for everybody, and one key for each account."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Page, expect
from served import Served, Watched

from bowerbird.ports import Database
from web_site import CRAWL, Crawled

ROOT = f"/community/{CRAWL}"
PAGES = ("", "/members", "/near", "/decide/undecided", "/sample", "/names")
_PLACE = {"place": -0.6, "place_found": "<script>alert(1)</script>"}
_EVIDENCE = msgspec.json.encode({"probability": 0.7, "written": 1.3, "written_found": "pt 9 of 10 posts", **_PLACE}).decode()
_JUDGE = """
insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call)
values ('community', 'user', ?, ?, 'posts', 1, ?, ?, '1', ?, 0)
"""
_NAME = """
insert into place_names (crawl, name, written, members, others, said, at) values (1, 'tuga', 'Tuga', 9, 1, 'proposed', 1)
"""


async def judge_everybody(database: Database) -> None:
    """Some belong, some do not, and of the others nothing is certain; evidence and a name hold markup."""
    async with database.transaction() as tx:
        rows = await tx.fetch("select user_no, id from users where seen_at is not null order by user_no")
        for place, row in enumerate(rows):
            value = ("yes", "undecided", "no", "undecided")[place % 4]
            await tx.execute(_JUDGE, row["id"], value, 0.6 + place / 1_000, _EVIDENCE, 1_000_000 - place)
        await tx.execute("update users set name = ? where user_no = ?", "<img src=x onerror=alert(1)>\u202e", rows[1]["user_no"])
        await tx.execute(_NAME)


def judged(served: Served) -> Served:
    assert served.site is not None
    served.do(judge_everybody(served.site.database))
    return served


@pytest.fixture(scope="module")
def shared_site(crawled: Crawled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(crawled.copy(tmp_path_factory.mktemp("community"))) as served:
        yield judged(served)


@pytest.fixture
def site(crawled: Crawled, tmp_path: Path) -> Iterator[Served]:
    with Served(crawled.copy(tmp_path)) as served:
        yield judged(served)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_can_be_read_light_and_dark_and_on_a_phone(
    shared_site: Served, page: Page, check_accessibility: Callable[[Page], None], path: str
) -> None:
    page.goto(shared_site.address(f"{ROOT}{path}"), wait_until="load")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        check_accessibility(page)
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_keys_decide_one_after_the_other_and_take_back(site: Served, page: Page) -> None:
    page.goto(site.address(f"{ROOT}/decide/undecided"))
    names = []
    for key in "ynus":
        names.append(page.locator(".person h2 .handle").inner_text())
        page.keyboard.press(key)
        expect(page.locator("#judging [role=status]")).to_be_visible()
        expect(page.locator(".person h2 .handle")).not_to_have_text(names[-1])
    # What is skipped is not decided.
    assert len(set(names)) == 4
    assert sorted(site.do(_decided(site))) == ["no", "undecided", "yes"]
    page.goto(site.address(f"{ROOT}/decide/undecided"))
    first = page.locator(".person h2 .handle").inner_text()
    page.keyboard.press("y")
    expect(page.locator(".person h2 .handle")).not_to_have_text(first)
    assert len(site.do(_decided(site))) == 4
    page.keyboard.press("z")
    expect(page.locator(".person h2 .handle")).to_have_text(first)
    assert len(site.do(_decided(site))) == 3
    page.goto(site.address(f"{ROOT}/persons"))
    expect(page.locator("tbody tr")).to_have_count(3)


def test_of_two_people_the_second_is_told_and_nothing_changes(site: Served, page: Page, watched: Watched) -> None:
    page.goto(site.address(f"{ROOT}/decide/undecided"))
    other = page.context.new_page()
    watched.attach(other)
    watched.expect("400 (Bad Request)")
    watched.expect("Response Status Error Code 400")
    other.goto(site.address(f"{ROOT}/decide/undecided"))
    page.keyboard.press("y")
    expect(page.locator("#judging [role=status]")).to_be_visible()
    other.keyboard.press("n")
    expect(other.locator("#judging [role=alert]")).to_be_visible()
    assert site.do(_decided(site)) == ["yes"]


def test_a_sample_is_drawn_and_labelled_and_a_name_confirmed(site: Served, page: Page) -> None:
    page.goto(site.address(f"{ROOT}/sample"))
    form = page.locator("form[action$='/sample/draw']").first
    form.locator("[name=size]").fill("3")
    with page.expect_navigation():
        form.get_by_role("button").click()
    for number, key in ((1, "y"), (2, "n"), (3, "u")):
        expect(page.locator(".judging")).to_contain_text(f"{number} of 3")
        page.keyboard.press(key)
    expect(page.locator("#judging .empty")).to_be_visible()
    expect(page.locator("#judging .share-line")).to_contain_text("50.0 %")
    page.goto(site.address(f"{ROOT}/names"))
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("tbody tr .state-confirmed")).to_be_visible()
    page.get_by_role("button", name="Refuse").click()
    expect(page.locator("tbody tr .state-refused")).to_be_visible()


async def _decided(served: Served) -> list[str]:
    """The values that people decided."""
    async with served.needed.database.reading() as tx:
        rows = await tx.fetch("select value from judgements where decided_by is not null")
    return [str(row["value"]) for row in rows]
