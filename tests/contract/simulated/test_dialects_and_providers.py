"""Every facet of every provider against the simulated service: requests are understood, answers are read."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.model import Ask, Facet, Outcome, Page, PostKind, Progress, Secret, Subject
from bowerbird.providers import PROVIDERS, provider
from bowerbird.simulated.bluesky import BlueskyDialect
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.rows import REPLY, REPOST
from bowerbird.simulated.world.settings import to_ms

NOW = datetime(2026, 1, 9, 15, tzinfo=UTC)
BASE = "https://simulated.example"
WITHOUT_HEADERS = {"weibo"}
"""Networks that say nothing of their limits in ordinary answers."""
SHORTEST_REACH = 1_900
"""Timelines with fewer posts than this can be read to their end on every network."""
WORDS = {"members": "900000", "list_timeline": "900000", "nearby": "51.507,-0.128"}
WORDS_OF_X = {"trends": "1", "usage": "all"}
FACETS = [(name, facet) for name, kind in PROVIDERS.items() for facet in kind().facets]


@cache
def world() -> World:
    return World(WorldSettings(accounts=600, seed=5))


@cache
def service(dialect: str) -> SimulatedService:
    return simulate(Setup(dialect=dialect, tokens=1, app_tokens=1), world())


def secret(simulated: SimulatedService, is_for_app: bool = False) -> Secret:
    token = next(token for token in simulated.tokens if (token.kind == "app") == is_for_app)
    if is_for_app:
        return Secret(name="a", values={"bearer_token": token.value})
    values = {"access_token": token.value, "access_token_secret": token.secret, "access_jwt": token.value}
    return Secret(name="t", values={**values, "consumer_key": token.consumer_key, "consumer_secret": token.consumer_secret})


def popular_post(simulated: SimulatedService) -> str:
    references = world().calendar.day(3).references
    for number in references.target[references.kind[references.start[:-1]] == REPOST].tolist():
        row = world().post(number, to_ms(NOW))
        if row is not None and world().is_open(row.author, to_ms(NOW)):
            return simulated.dialect.post_key(number)
    raise AssertionError("nobody reposted anything")


def a_comment(simulated: SimulatedService) -> str:
    references = world().calendar.day(3).references
    for number in references.target[references.kind[references.start[:-1]] == REPLY].tolist():
        page = ask(simulated.dialect.name, Ask("thread", (simulated.dialect.post_key(number),)))
        if page.posts and page.posts[0].kind is PostKind.COMMENT:
            return page.posts[0].key
    raise AssertionError("nobody commented on anything")


def writers() -> list[int]:
    people = world().people
    busiest = (-people.rate).argsort()[:60].tolist()
    return [account for account in busiest if world().is_open(account, to_ms(NOW)) and not people.hides_network[account]]


def target(simulated: SimulatedService, facet: Facet) -> str:
    if isinstance(simulated.dialect, BlueskyDialect) and facet.name in ("members", "trends", "repos"):
        return simulated.dialect.actors.list_uri() if facet.name == "members" else "all"
    if facet.name in WORDS:
        return WORDS[facet.name]
    if simulated.dialect.name == "x" and facet.name in WORDS_OF_X:
        return WORDS_OF_X[facet.name]
    if facet.name == "handles":
        return f"@{simulated.dialect.handle_of(writers()[0], NOW)}"
    if facet.name == "comments":
        return a_comment(simulated)
    if facet.name == "link":
        return ask(simulated.dialect.name, Ask("trends", ("links",))).trends[0].word
    if facet.subject is Subject.USER:
        return simulated.dialect.account_key(writers()[0])
    return popular_post(simulated) if facet.subject is Subject.POST else "football"


def ask(dialect: str, question: Ask) -> Page:
    simulated, asked = service(dialect), provider(dialect, now=lambda: NOW, base=BASE)

    is_for_app = question.facet not in asked.facets_for("user")

    async def main(clock: VirtualClock) -> Page:
        there = simulated.described(BASE)
        transport = InProcessTransport({there.name: simulated}, clock)
        answer = await transport.send(there, asked.sign(asked.request(question), secret(simulated, is_for_app)))
        return asked.parse(question, answer, there)

    page: Page = run_virtual(main, start=NOW)
    return page


@pytest.mark.parametrize(("dialect", "name"), FACETS)
def test_every_facet_is_answered_and_read(dialect: str, name: str) -> None:
    facet = PROVIDERS[dialect]().facets[name]
    page = ask(dialect, Ask(name, (target(service(dialect), facet),)))
    assert page.outcome is Outcome.OK, page.detail
    assert page.broken == ()
    if dialect in WITHOUT_HEADERS and name != "limits":
        return
    assert page.reading is not None
    assert page.reading.reset_at is not None
    assert page.reading.reset_at > NOW


@pytest.mark.parametrize("dialect", list(PROVIDERS))
def test_a_whole_timeline_is_found_page_by_page(dialect: str) -> None:
    simulated = service(dialect)
    account = next(each for each in writers() if world().post_count(each, to_ms(NOW)) < SHORTEST_REACH)
    key = simulated.dialect.account_key(account)
    found: set[str] = set()
    progress = Progress()
    for _ in range(200):
        page = ask(dialect, Ask("timeline", (key,), progress))
        found |= {post.key for post in page.posts}
        if page.cursor is None:
            break
        progress = Progress(cursor=page.cursor)
    since = datetime(2007, 1, 1, tzinfo=UTC)
    wanted = {post for post, gone in simulated.posts_to_find(key, since, NOW, NOW).items() if gone is None or gone > NOW}
    assert len(wanted) > 200
    assert wanted <= found


@pytest.mark.parametrize("dialect", list(PROVIDERS))
def test_followers_found_are_the_true_ones(dialect: str) -> None:
    simulated = service(dialect)
    account = max(writers(), key=lambda each: len(world().graph.followers(each, to_ms(NOW))[0]))
    found: set[str] = set()
    progress = Progress()
    for _ in range(100):
        page = ask(dialect, Ask("followers", (simulated.dialect.account_key(account),), progress))
        found |= {relation.source for relation in page.relations}
        if page.cursor is None:
            break
        progress = Progress(cursor=page.cursor)
    listed = {each for each in simulated.truth.followers(account, NOW) if simulated.truth.availability(each, NOW) != "suspended"}
    assert found == {simulated.dialect.account_key(each) for each in listed}
