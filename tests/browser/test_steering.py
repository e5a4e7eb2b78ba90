"""Steering in a real browser: every action once, against a simulated network on loopback."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import Struct
from playwright.sync_api import Browser, Locator, Page, expect
from served import Served, Watched

from bowerbird.clock import RealClock, to_micros
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import WorldSettings
from web_site import CRAWL

PAGES = ("", "/new", "/new/file", "/seeds", "/people?q=ana", "/credentials", "/actions", f"/crawls/{CRAWL}")
_SLOW = 240_000
"""Milliseconds for a process to start, or a rehearsal to end, on a machine that has other work."""


class Network(Struct, frozen=True):
    """A simulated network, and accounts of it."""

    base: str
    handles: tuple[str, ...]
    service: SimulatedService


@pytest.fixture
def network(site: Served) -> Iterator[Network]:
    clock = RealClock()
    world = WorldSettings(accounts=80, start=clock.now() - timedelta(days=3), longest_history=20, since=clock.now())
    service, stack = simulate(Setup(dialect="mastodon", world=world, tokens=1)), AsyncExitStack()
    base = site.do(stack.enter_async_context(serve(service, clock)))
    now = clock.now()
    open_ones = [each for each in range(len(service.world)) if service.truth.is_collectable(each, now)]
    yield Network(base, tuple(f"@{service.dialect.handle_of(each, now)}" for each in open_ones[:4]), service)
    site.do(stack.aclose())


def done(page: Page) -> Locator:
    """What a page says of an action that was taken."""
    return page.locator(".message[role=status]").first


def card(page: Page, name: str) -> Locator:
    return page.locator("section.card").filter(has=page.get_by_role("link", name=name, exact=True))


def fill_in(page: Page, site: Served, network: Network, name: str) -> None:
    page.goto(site.address("/steering/new"))
    page.fill("[name=name]", name)
    page.fill("[name=base]", network.base)
    page.fill("[name=seeds]", "\n".join(network.handles[:2]))
    expect(page.locator("#checked .message.good")).to_contain_text("2")


@pytest.mark.parametrize("path", PAGES)
def test_every_page_can_be_read_light_and_dark_and_on_a_phone(
    shared_site: Served, page: Page, check_accessibility: Callable[[Page], None], path: str
) -> None:
    page.goto(shared_site.address(f"/steering{path}"), wait_until="load")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        check_accessibility(page)
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


@pytest.mark.timeout(900)
def test_a_crawl_is_made_planned_started_paused_resumed_and_stopped(site: Served, page: Page, network: Network) -> None:
    fill_in(page, site, network, "trial")
    page.get_by_role("button", name="Plan it").click()
    expect(page.locator("#planned .working")).to_be_visible()
    expect(page.locator("#planned table")).to_be_visible(timeout=_SLOW)
    page.get_by_role("button", name="Write and start").click()
    expect(done(page)).to_contain_text(re.compile(r"\btrial\b.* \d+"))  # the number of its process
    expect(page.locator(".state-running")).to_be_visible(timeout=_SLOW)
    page.get_by_role("link", name="Watch it").click(timeout=_SLOW)
    expect(page).to_have_url(site.address("/crawls/trial"))
    # Without loading the page again in between: what is pushed to it leaves its buttons as good as they were.
    page.goto(site.address("/steering"))
    for verb in ("Pause", "Resume"):
        card(page, "trial").locator(".steer-acts").get_by_role("button", name=verb).click()
        expect(done(page)).to_contain_text("trial")
        state = ".state-paused" if verb == "Pause" else ".state-running"
        expect(card(page, "trial").locator(state).first).to_be_visible(timeout=_SLOW)
        expect(card(page, "trial").locator("[data-changed]")).to_have_count(0)
    card(page, "trial").locator(".steer-acts").get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(done(page)).to_contain_text("trial")
    expect(card(page, "trial").locator(".state-stopped")).to_be_visible(timeout=_SLOW)
    expect(card(page, "trial").get_by_role("link", name="Start …")).to_be_visible(timeout=_SLOW)
    page.goto(site.address("/steering/crawls/trial"))
    expect(page.locator(".log")).not_to_be_empty(timeout=_SLOW)
    page.get_by_role("button", name="Start trial").click()
    expect(done(page)).to_contain_text(re.compile(r"\btrial\b.* \d+"))
    expect(page.locator(".state-running")).to_be_visible(timeout=_SLOW)
    page.goto(site.address("/steering"))
    card(page, "trial").locator(".steer-acts").get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(card(page, "trial").locator(".state-stopped")).to_be_visible(timeout=_SLOW)


def test_a_form_says_what_is_wrong_while_it_is_typed_and_keeps_what_was_typed(site: Served, page: Page, network: Network) -> None:
    fill_in(page, site, network, "typed")
    page.fill("[name=calls]", "many")
    expect(page.locator("#checked [data-error=invalid]")).to_contain_text("'many'")
    page.fill("[name=calls]", "25")
    expect(page.locator("#checked")).to_contain_text("calls = 25")
    page.fill("[name=name]", "../etc/passwd")
    expect(page.locator("#checked [data-error=invalid]")).to_contain_text("../etc/passwd")
    page.fill("[name=name]", "typed")
    page.select_option("[name=flow]", "graph")
    expect(page.locator("[name=calls]")).to_have_value("25")
    expect(page.locator("#checked")).to_contain_text('flow = "graph"')
    page.get_by_role("button", name="Write only").click()
    expect(done(page)).to_contain_text("typed")
    assert (Path(site.store).parent / "crawled-crawls" / "typed.toml").is_file()


def test_a_file_is_uploaded_and_a_crawl_that_costs_asks_for_its_budget(
    site: Served, page: Page, watched: Watched, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'flow = "timelines"\nseeds = ["@alice"]\n[service]\nprovider = "x"\nbase = "https://api.x.com"\ndollars = 3\n'
    )
    page.goto(site.address("/steering/new/file"))
    page.fill("[name=name]", "paid")
    page.set_input_files("[name=file]", file)
    expect(page.locator("#checked [name=dollars]")).to_have_attribute("placeholder", "3.00")
    expect(page.get_by_role("button", name="Write and start")).to_be_disabled()
    page.get_by_role("button", name="Write only").click()
    expect(done(page)).to_contain_text("paid")
    assert (Path(site.store).parent / "crawled-crawls" / "paid.toml").is_file()
    watched.expect("400 (Bad Request)")
    page.fill("[name=dollars]", "1")
    page.get_by_role("button", name="Start paid").click()
    expect(page.locator("[data-error=needs_agreement]")).to_contain_text("3.00")


def test_a_crawl_is_resumed_on_the_page_that_saw_it_pause(site: Served, page: Page) -> None:
    site.do(_enrol(site, "field-laptop"))
    site.do(_stands(site, "running"))
    page.goto(site.address("/steering"))
    for verb, state in (("Pause", "paused"), ("Resume", "running"), ("Pause", "paused")):
        card(page, CRAWL).locator(".steer-acts").get_by_role("button", name=verb).click()
        expect(done(page)).to_contain_text(CRAWL)
        site.do(_stands(site, state))
        expect(card(page, CRAWL).locator(f"[data-live] .state-{state}")).to_be_visible()


async def _stands(served: Served, state: str) -> None:
    """Its process came to what was wanted."""
    async with served.needed.database.transaction() as tx:
        await tx.execute("update crawls set state = ?, wanted = ? where name = ?", state, state, CRAWL)


def test_a_facet_is_paused_and_of_two_people_the_second_is_told(
    site: Served, page: Page, browser: Browser, watched: Watched
) -> None:
    page.goto(site.address("/steering"))
    other = page.context.new_page()
    watched.attach(other)
    watched.expect("400 (Bad Request)")
    other.goto(site.address("/steering"))
    for one in (page, other):
        card(one, CRAWL).locator("summary").click()
    # Nobody runs the crawl: what is said of a facet counts when it is started.
    row = "tbody tr >> nth=0"
    card(page, CRAWL).locator(row).get_by_role("button", name="Hold back").click()
    expect(done(page)).to_be_visible()
    wanted = site.do(_wanted(site))
    assert list(wanted.values()) == ["paused"]
    card(other, CRAWL).locator(row).get_by_role("button", name="Hold back").click()
    expect(other.locator("[data-error=changed_meanwhile]")).to_be_visible()
    assert site.do(_wanted(site)) == wanted
    with page.expect_navigation():
        card(page, CRAWL).locator(row).get_by_role("button", name="Let it run").click()
    expect(done(page)).to_be_visible()
    assert "paused" not in site.do(_wanted(site)).values()


def test_a_worker_of_a_name_is_paused_resumed_and_stopped_and_of_two_people_the_second_is_told(
    site: Served, page: Page, watched: Watched
) -> None:
    site.do(_enrol(site, "field-laptop"))
    watched.expect("400 (Bad Request)")
    other = page.context.new_page()
    watched.attach(other)

    def row(one: Page) -> Locator:
        one.goto(site.address("/steering"))
        details = card(one, CRAWL).locator("details")
        if details.get_attribute("open") is None:
            details.locator("summary").click()
        return card(one, CRAWL).locator("tbody tr").filter(has_text="field-laptop")

    late = row(other)
    row(page).get_by_role("button", name="Pause").click()
    expect(done(page)).to_contain_text("field-laptop")
    assert site.do(_wanted(site)) == {"field-laptop": "paused"}
    late.get_by_role("button", name="Pause").click()
    expect(other.locator("[data-error=changed_meanwhile]")).to_be_visible()
    row(page).get_by_role("button", name="Resume").click()
    expect(done(page)).to_contain_text("field-laptop")
    assert "paused" not in site.do(_wanted(site)).values()
    row(page).get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(done(page)).to_contain_text("field-laptop")
    assert site.do(_wanted(site)) == {"field-laptop": "stopped"}


async def _enrol(served: Served, label: str) -> None:
    """A worker of this name on another machine, seen just now."""
    now = to_micros(served.needed.clock.now())
    row = "insert into workers (name, host, pid, label, started_at, seen_at) values (?, 'elsewhere.example', 1, ?, ?, ?)"
    async with served.needed.database.transaction() as tx:
        await tx.execute(row, CRAWL, label, now, now)


async def _wanted(served: Served) -> dict[str, str]:
    async with served.needed.database.reading() as tx:
        return {str(row["name"]): str(row["wanted"]) for row in await tx.fetch("select name, wanted from controls")}


def test_seeds_are_added_and_retired(site: Served, page: Page) -> None:
    page.goto(site.address(f"/steering/seeds?crawl={CRAWL}"))
    page.fill("[name=seeds]", "#jazz")
    page.get_by_role("button", name="Add").click()
    expect(done(page)).to_contain_text("1")
    page.wait_for_load_state()  # the scripts that open the dialog
    row = page.locator("tbody tr").filter(has_text="jazz").first
    row.get_by_role("button", name="Retire").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(done(page)).to_contain_text("jazz")
    expect(page.locator("tbody tr").filter(has_text="jazz").first.locator(".state-retired")).to_be_visible()


def test_a_credential_and_a_database_are_added_tested_and_retired_and_no_secret_comes_back(
    site: Served, page: Page, network: Network
) -> None:
    secret = next(iter(network.service.tokens)).value
    page.goto(site.address("/steering/credentials"))
    form = page.locator("form[action$='/credentials/add']").filter(has=page.locator("[name=secret_access_token]"))
    form.locator("[name=name]").fill("mine")
    form.locator("[name=secret_access_token]").fill(secret)
    form.locator("[name=server]").fill(network.base)
    form.get_by_role("button").click()
    expect(done(page)).to_contain_text("mine")
    row = page.locator("tbody tr").filter(has_text="mine")
    row.get_by_role("button", name="Test").click()
    expect(page.locator(".message.good")).to_contain_text("mine")
    assert secret not in page.content()
    for given, tone in (("mistypedtoken", "bad"), (secret, "good")):
        row.get_by_role("link", name="Replace").click()
        replacing = page.locator("form[action$='/credentials/replace']")
        replacing.locator("[name=secret_access_token]").fill(given)
        replacing.get_by_role("button").click()
        expect(done(page)).to_contain_text("mine")
        row.get_by_role("button", name="Test").click()
        expect(page.locator(f".message.{tone}")).to_contain_text("mine")
        assert given not in page.content()
    # The scripts of the page ask before it is done.
    page.wait_for_load_state("load")
    row.get_by_role("button", name="Retire").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(row).to_have_count(0)
    form = page.locator("form[action$='/credentials/database']")
    database = {"name": "archive", "host": "127.0.0.1", "port": "1", "database": "d", "user": "u", "password": "p@ss"}
    for name, value in database.items():
        form.locator(f"[name={name}]").fill(value)
    form.get_by_role("button").click()
    expect(done(page)).to_contain_text('store = "vault:archive"')
    page.locator("tbody tr").filter(has_text="archive").get_by_role("button", name="Test").click()
    expect(page.locator(".message.bad")).to_contain_text("archive", timeout=_SLOW)
    assert "p@ss" not in page.content()


def test_people_are_looked_up_online_and_added_as_seeds(site: Served, page: Page, network: Network) -> None:
    fill_in(page, site, network, "looked")
    with page.expect_navigation():
        page.get_by_role("button", name="Write only").click()
    page.goto(site.address("/steering/people"))
    form = page.locator("form[action$='/people/look']")
    form.locator("[name=q]").fill(network.handles[3])
    form.locator("[name=base]").fill(network.base)
    form.get_by_role("button", name="Look online").click()
    expect(page.locator("tbody tr").first).to_contain_text(network.handles[3].removeprefix("@"), timeout=_SLOW)
    page.get_by_role("button", name="Add as seed").first.click()
    expect(done(page)).to_be_visible()
    page.goto(site.address("/steering/actions?q=look"))
    expect(page.locator("tbody tr").first.locator("td").nth(2)).to_have_text("look up")  # as it is stored
