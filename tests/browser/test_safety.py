"""What people and networks may do to the dashboard, in a real browser: it stays calm, and nothing of theirs runs."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect
from served import Served, Watched
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bowerbird.web.security import Form, Role, people

PASSWORD = "correct horse battery"


async def _add(served: Served, **roles: Role) -> None:
    site = served.needed
    hash_ = await site.guard.entrance.passwords.hash(PASSWORD)
    async with site.database.transaction() as tx:
        for name, role in roles.items():
            await people.add(tx, name, hash_, role, site.clock.now())


def log_in(page: Page, served: Served, name: str, password: str = PASSWORD) -> None:
    page.goto(served.address("/login"))
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    with page.expect_navigation():
        page.get_by_role("button", name="Log in").click()


def test_a_wrong_password_is_told_and_the_right_one_opens_what_was_asked_for(
    site: Served, stranger: Page, watched: Watched, check_accessibility: Callable[[Page], None]
) -> None:
    site.do(_add(site, ada=Role.ADMIN))
    watched.expect("401")
    stranger.goto(site.address("/help"))
    expect(stranger).to_have_url(site.address("/login?next=/help"))
    check_accessibility(stranger)
    stranger.get_by_label("Name").fill("ada")
    stranger.get_by_label("Password").fill("wrong")
    with stranger.expect_response(site.address("/login")) as answer:
        stranger.keyboard.press("Enter")
    assert answer.value.status == 401
    expect(stranger.get_by_role("alert")).to_be_visible()
    expect(stranger.get_by_label("Name")).to_have_value("ada")
    expect(stranger.get_by_label("Password")).to_be_focused()
    check_accessibility(stranger)
    stranger.get_by_label("Password").fill(PASSWORD)
    stranger.keyboard.press("Enter")
    expect(stranger).to_have_url(site.address("/help"))


def test_after_too_many_wrong_passwords_the_right_one_is_told_to_wait(site: Served, stranger: Page, watched: Watched) -> None:
    site.do(_add(site, ada=Role.ADMIN))
    watched.expect("401")
    watched.expect("429")
    for _ in range(10):
        log_in(stranger, site, "ada", "wrong")
    with stranger.expect_response(lambda response: response.request.method == "POST") as answer:
        log_in(stranger, site, "ada")
    assert answer.value.status == 429
    expect(stranger.get_by_role("alert")).to_contain_text(re.compile(r"\d+ min"))


def test_a_logout_ends_it_and_the_way_back_shows_nothing(site: Served, stranger: Page) -> None:
    site.do(_add(site, ada=Role.ADMIN))
    log_in(stranger, site, "ada")
    stranger.goto(site.address("/people"))
    stranger.get_by_role("button", name="Log out").click()
    expect(stranger).to_have_url(site.address("/login"))
    stranger.go_back()
    expect(stranger.get_by_role("button", name="Log in")).to_be_visible()


def test_the_key_of_the_terminal_is_in_no_history_and_works_once(site: Served, browser: Browser, page: Page) -> None:
    expect(page).to_have_url(site.address("/"))
    key = site.do(site.needed.guard.entrance.key())
    other = browser.new_page()
    other.goto(site.address(f"/enter?key={key}"))
    expect(other).to_have_url(site.address("/"))
    third = browser.new_context().new_page()
    refused = third.goto(site.address(f"/enter?key={key}"))
    assert refused is not None
    assert refused.status == 401
    expect(third.get_by_role("alert")).to_be_visible()
    for each in (other, third):
        each.close()


def test_an_admin_adds_changes_and_removes_people(site: Served, page: Page, check_accessibility: Callable[[Page], None]) -> None:
    page.goto(site.address("/people"))
    check_accessibility(page)
    _fill_in(page, "ada")
    expect(page).to_have_url(site.address("/login?next=/people%3Fdone%3Dadded"))
    log_in(page, site, "ada")
    page.goto(site.address("/people"))
    _fill_in(page, "rita")
    expect(page.get_by_role("status")).to_be_visible()
    expect(page.get_by_role("row", name="rita")).to_have_count(1)
    check_accessibility(page)
    page.get_by_label("Role of rita").select_option("steer")
    page.get_by_role("row", name="rita").get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_label("Role of rita")).to_have_value("steer")
    page.get_by_role("row", name="rita").locator("summary").click()
    page.get_by_role("row", name="rita").get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(page.get_by_role("row", name="rita")).to_have_count(0)


def _fill_in(page: Page, name: str) -> None:
    form = page.locator("form[action='/people/add']")
    form.get_by_label("Name").fill(name)
    form.locator("input[name=password]").fill(PASSWORD)
    form.locator("input[name=again]").fill(PASSWORD)
    form.get_by_role("button", name="Add").click()


def test_a_dead_database_is_told_calmly_and_the_page_comes_back(site: Served, page: Page, watched: Watched) -> None:
    watched.expect("503")
    site.set_away(True)
    page.goto(site.address("/help"))
    expect(page.locator("[data-error]")).to_have_attribute("data-error", re.compile("^database_"))
    site.set_away(False)
    # It tries again by itself.
    expect(page.locator("[data-error]")).to_have_count(0)
    expect(page).to_have_url(site.address("/help"))


def test_of_two_who_steer_at_once_the_second_is_told_what_the_first_did(
    site: Served, browser: Browser, stranger: Page, watched: Watched
) -> None:
    site.do(_add(site, ada=Role.ADMIN, steve=Role.STEER))
    watched.expect("409")
    _let_steer(site)
    other = browser.new_context().new_page()
    log_in(stranger, site, "ada")
    log_in(other, site, "steve")
    for page in (stranger, other):
        page.goto(site.address("/people"))
    stranger.evaluate(_STEER, "pause")
    expect(stranger).to_have_url(site.address("/help"))
    other.evaluate(_STEER, "stop")
    expect(other.locator("[data-error=changed_meanwhile]")).to_contain_text("ada")
    expect(other.locator("[data-error=changed_meanwhile]")).to_contain_text("pause")
    other.close()


_STEER = """(what) => {
  const form = document.querySelector("form[action='/logout']").cloneNode(true);
  form.action = "/steer-for-test";
  const field = document.createElement("input");
  field.name = "what"; field.value = what;
  form.append(field);
  document.body.append(form);
  form.requestSubmit();
}"""


def _let_steer(served: Served) -> None:
    """One action more, on one subject."""
    site = served.needed

    async def act(request: Request, form: Form) -> Response:
        async def do() -> None:
            return None

        await site.act(request, str(form["what"]), "the crawl", do)
        return RedirectResponse("/help", 303)

    served.add(Route("/steer-for-test", site.acting(Role.STEER, act), methods=["POST"]))
