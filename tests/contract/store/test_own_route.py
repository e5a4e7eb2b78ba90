"""Only the object's own route may prove that it is gone, on every network and for every facet, on both databases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from store_pages import Crawled

from bowerbird.model import Answer, Ask, Facet, Gone, Outcome, Page, Post, Service, Subject, User
from bowerbird.ports import Database
from bowerbird.providers import PROVIDERS, provider
from bowerbird.store import register_service
from bowerbird.store.people.names import id_for

NETWORKS = {name: "x" if name == "twitter_v1" else name for name in PROVIDERS}
OWN = {
    "mastodon": {"profiles", "profile", "posts", "post"},
    "bluesky": {"profiles", "profile", "posts", "status", "repo", "records", "following_records"},
    "x": {"profiles", "profile", "handles", "posts", "post"},
    "twitter_v1": {"profiles", "profile", "posts", "post"},
    "weibo": {"profiles", "profile", "posts", "post", "comments"},
}
HELD = {"status", "repo", "records", "following_records"}
DID = f"did:plc:{'a' * 24}"
ERASING = (Outcome.NOT_FOUND, Outcome.SUSPENDED, Outcome.DEACTIVATED)
ABOUT_TARGET = tuple(outcome for outcome in Outcome if outcome.is_about_target)
WRITTEN = datetime(2026, 2, 1, tzinfo=UTC)


def facets(name: str) -> Iterator[Facet]:
    return (facet for facet in provider(name).facets.values() if facet.subject is not Subject.WORD)


class Scene:
    """One service whose account and post are stored anew, and living, before every question."""

    def __init__(self, crawled: Crawled, name: str) -> None:
        self.crawled, self.network = crawled, NETWORKS[name]
        self.service = Service(name="asked", provider=name, base="https://asked.example")
        self.numbers = iter(range(1, 1_000_000))

    async def living(self) -> dict[Subject, str]:
        """Keys of a stored account and a stored post of it."""
        account, written = str(next(self.numbers)), str(next(self.numbers))
        if self.network == "bluesky":
            account, written = f"did:plc:{account}", f"at://did:plc:{account}/app.bsky.feed.post/{written}"
        keys = {Subject.USER: account, Subject.POST: written}
        ids = {subject: id_for(self.network, "asked", key) for subject, key in keys.items()}
        user = User(id=ids[Subject.USER], key=keys[Subject.USER], handle="ada", description="poet")
        post = Post(id=ids[Subject.POST], key=keys[Subject.POST], author=user.id, text="secret", created_at=WRITTEN)
        await self.crawled.save(Page(users=(user,), posts=(post,)), next(facets(self.service.provider)), service=self.service)
        return keys

    async def ask(self, facet: Facet, page: Page, target: str, *, cursor: str | None = None) -> None:
        await self.crawled.save(page, facet, target, service=self.service, cursor=cursor)

    async def left(self, keys: dict[Subject, str]) -> tuple[str | None, str | None]:
        """What is still stored of the account and of the post."""
        ids = {subject: id_for(self.network, "asked", key) for subject, key in keys.items()}
        user = await self.crawled.row("select description from users where id = ?", ids[Subject.USER])
        post = await self.crawled.row("select text from posts where id = ?", ids[Subject.POST])
        return user["description"], post["text"]


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


ON_EVERY_NETWORK = pytest.mark.parametrize(
    ("scene", "database_url"),
    [
        *((name, "sqlite") for name in sorted(PROVIDERS)),
        ("bluesky", "postgresql"),
        *(pytest.param(name, "postgresql", marks=pytest.mark.long) for name in sorted(PROVIDERS.keys() - {"bluesky"})),
    ],
    indirect=True,
)
"""What may be erased is decided above the database: on PostgreSQL the network with the most facets will do in `make test`."""


@pytest.fixture
async def scene(request: pytest.FixtureRequest, database: Database) -> Scene:
    made = Scene(await Crawled(database).register(), request.param)
    async with database.transaction() as tx:
        await register_service(tx, made.service, made.network)
    return made


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_every_table_says_which_facets_ask_for_the_object_itself(name: str) -> None:
    assert {facet.name for facet in provider(name).facets.values() if facet.is_own_route} == OWN[name]


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_only_bluesky_has_hosts_that_know_their_own_accounts_alone(name: str) -> None:
    known = {facet.name for facet in provider(name).facets.values() if facet.knows_own_only}
    assert known == (HELD if name == "bluesky" else set())


@ON_EVERY_NETWORK
async def test_a_refusal_erases_only_what_was_asked_for_itself(scene: Scene) -> None:
    for facet in facets(scene.service.provider):
        for outcome in ABOUT_TARGET:
            keys = await scene.living()
            await scene.ask(facet, Page(outcome=outcome), keys[facet.subject])
            is_elsewhere = facet.knows_own_only and outcome in (Outcome.NOT_FOUND, Outcome.DEACTIVATED)
            is_erased = facet.is_own_route and outcome in ERASING and not is_elsewhere
            user = None if is_erased and facet.subject is Subject.USER else "poet"
            assert await scene.left(keys) == (user, None if is_erased else "secret"), (facet.name, outcome)


@pytest.mark.parametrize("name", sorted(HELD))
async def test_a_host_that_does_not_hold_an_account_erases_it_only_if_it_has_shown_it_before(crawled: Crawled, name: str) -> None:
    """On Bluesky an account lives at one host; any other says that it cannot find it."""
    scene, facet = Scene(crawled, "bluesky"), provider("bluesky").facets[name]
    async with crawled.database.transaction() as tx:
        await register_service(tx, scene.service, "bluesky")
    for outcome in (Outcome.NOT_FOUND, Outcome.DEACTIVATED):
        keys = await scene.living()
        await scene.ask(facet, Page(outcome=outcome), keys[Subject.USER])
        assert await scene.left(keys) == ("poet", "secret"), outcome
        await scene.ask(facet, Page(outcome=outcome), keys[Subject.USER], cursor="3k")
        assert await scene.left(keys) == (None, None), outcome


@pytest.mark.parametrize(("status", "is_gone"), [("deleted", True), ("takendown", True), ("desynchronized", False)])
async def test_a_relay_that_names_what_became_of_an_account_is_believed(crawled: Crawled, status: str, is_gone: bool) -> None:
    speaks, relay, did = provider("bluesky"), Service(name="relay", provider="bluesky", base="https://relay.example"), DID
    async with crawled.database.transaction() as tx:
        await register_service(tx, relay, "bluesky")
    post = Post(id=f"at://{did}/x/1", key=f"at://{did}/x/1", author=did, text="secret", created_at=WRITTEN)
    await crawled.hear(Page(users=(User(id=did, key=did, description="poet"),), posts=(post,)))
    for body, code in (({"error": "RepoNotFound", "message": "?"}, 400), ({"did": did, "active": False, "status": status}, 200)):
        said = Answer(status=code, body=json.dumps(body).encode(), sent_at=crawled.now, received_at=crawled.now)
        page = speaks.parse(Ask("status", (did,)), said, relay)
        await crawled.save(page, speaks.facets["status"], did, service=relay)
        text = (await crawled.row("select text from posts where id = ?", post.id))["text"]
        assert (text is None) == (is_gone and code == 200)


@ON_EVERY_NETWORK
async def test_what_a_page_says_of_others_than_its_targets_erases_nothing(scene: Scene) -> None:
    for facet in facets(scene.service.provider):
        for outcome in ERASING:
            keys, asked = await scene.living(), await scene.living()
            gone = tuple(Gone(subject, key, outcome, is_vague) for subject, key in keys.items() for is_vague in (False, True))
            await scene.ask(facet, Page(gone=gone), asked[facet.subject])
            assert await scene.left(keys) == ("poet", "secret"), (facet.name, outcome)


@ON_EVERY_NETWORK
async def test_the_mark_on_the_object_itself_counts_wherever_it_is_shown(scene: Scene) -> None:
    for facet in facets(scene.service.provider):
        keys, asked = await scene.living(), await scene.living()
        marked = Gone(Subject.POST, keys[Subject.POST], Outcome.NOT_FOUND, is_stated=True)
        await scene.ask(facet, Page(gone=(marked,)), asked[facet.subject])
        assert await scene.left(keys) == ("poet", None), facet.name
        marked = Gone(Subject.USER, keys[Subject.USER], Outcome.SUSPENDED, is_stated=True)
        await scene.ask(facet, Page(gone=(marked,)), asked[facet.subject])
        assert await scene.left(keys) == (None, None), facet.name


@ON_EVERY_NETWORK
async def test_that_an_account_may_not_be_read_is_told_by_itself_and_by_its_posts(scene: Scene) -> None:
    for facet in facets(scene.service.provider):
        if facet.subject is Subject.USER:
            for outcome in (Outcome.PROTECTED, Outcome.BLOCKED):
                keys, before = await scene.living(), await scene.crawled.count("unavailable")
                await scene.ask(facet, Page(outcome=outcome), keys[Subject.USER])
                is_marked = await scene.crawled.count("unavailable") > before
                assert is_marked == (facet.is_own_route or facet.lists_own_posts), (facet.name, outcome)
