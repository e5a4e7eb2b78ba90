"""A crawl of two Mastodon servers that share one world: everybody is asked about at home, and nobody is stored twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from bowerbird.app import Crawl, Outside, open_crawl, vocabulary
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.endings import Ending
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.model import Answer, Credential, Request, Secret, Service
from bowerbird.ports import Vault
from bowerbird.simulated.mastodon.federation import Vantage
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.settings import to_ms
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
SERVERS = ("one.example", "two.example")
FLOW = """
flow.seeds = ["profiles", "profile"]
flow.facets.profile.ranker = "fifo"
flow.facets.profiles.ranker = "fifo"
flow.facets.timeline.ranker = "fifo"
flow.facets.followers.ranker = "fifo"
flow.facets.following.ranker = "fifo"
flow.edges = [
    {from = "profile", to = "profiles", take = "asked"},
    {from = "profiles", to = "timeline", take = "asked", when = "news"},
    {from = "profiles", to = "followers", take = "asked"},
    {from = "profiles", to = "following", take = "asked"},
    {from = "followers", to = "profiles", take = "neighbours"},
    {from = "following", to = "profiles", take = "neighbours"},
]
filters.follow_opted_out = true
"""


@cache
def world() -> World:
    # It stands still: lists and timelines can be compared with the truth whenever they were read.
    return World(WorldSettings(accounts=50, seed=5, following=8.0, longest_history=60, until=START))


@cache
def homes() -> Vantage:
    return Vantage(world(), SERVERS[0], SERVERS)


class Pair:
    """The two servers, and crawls that name both."""

    def __init__(self, clock: VirtualClock, second: str = "") -> None:
        """`second`: the software of the second server, where that is not Mastodon."""
        self.clock = clock
        flavours = {SERVERS[1]: second} if second else {}
        self.services = {
            name: simulate(Setup(domain=name, servers=SERVERS, flavour=flavours.get(name, ""), flavours=flavours), world())
            for name in SERVERS
        }

    def crawl(
        self, seeds: Sequence[str], depth: int = 9, lie: str = "", shared: Vault | None = None
    ) -> AbstractAsyncContextManager[Crawl]:
        """`shared`: a vault whose one credential `both` is used at both servers."""
        own = {name: "both" if shared else f"{name}1" for name in SERVERS}
        tables = [
            f'[[services]]\nname = "{name}"\nprovider = "mastodon"\nbase = "https://{name}"\ncredentials = ["{own[name]}"]\n'
            for name in SERVERS
        ]
        text = f"{FLOW}\nfilters.max_depth = {depth}\nseeds = {msgspec.json.encode(seeds).decode()}\n" + "".join(tables)
        plan = msgspec.structs.replace(parse_crawl(text, Path("pair.toml"), vocabulary()), store=":memory:")
        transport, vault = Lying(self.services, self.clock, lie), shared or PairVault(self.services)
        return open_crawl(plan, Outside(clock=self.clock, transport=transport, vault=vault, glance=timedelta(days=1)))

    async def run(self, crawl: Crawl) -> Ending:
        return await crawl.process.run(crawl.seeds, slots=4, watch_every=timedelta(minutes=10))

    def posts_to_find(self, account: int) -> set[str]:
        """Global ids of the posts that a visitor of the account's own server may see."""
        home = homes().home(account)
        dialect = self.services[home].dialect
        base = f"https://{home}/users/{dialect.handle_of(account, START)}/statuses"
        found = self.services[home].posts_to_find(dialect.account_key(account), START - timedelta(days=3000), START, START)
        living = {key for key, gone in found.items() if gone is None or gone > START}
        return {f"{base}/{key}" for key in living}


class Lying(InProcessTransport):
    """The second server speaks ill of everybody who lives on the first; without a lie it is honest."""

    def __init__(self, services: dict[str, SimulatedService], clock: VirtualClock, lie: str) -> None:
        super().__init__(services, clock)
        self._lie = lie

    async def send(self, service: Service, request: Request) -> Answer:
        answer = await super().send(service, request)
        if service.name == SERVERS[0] or not self._lie or answer.status != 200:
            return answer
        return msgspec.structs.replace(answer, body=msgspec.json.encode(self._twisted(msgspec.json.decode(answer.body))))

    def _twisted(self, item: Any) -> Any:
        if isinstance(item, list):
            return [self._twisted(each) for each in item]
        if not isinstance(item, dict):
            return item
        twisted = {name: self._twisted(value) for name, value in item.items()}
        is_foreign = str(item.get("uri", "")).startswith(f"https://{SERVERS[0]}/")
        if is_foreign and "acct" in item:
            return twisted | {"suspended": {"suspended": True}, "nobot": {"note": "<p>#nobot</p>"}}.get(self._lie, {})
        return twisted | {"content": "<p>spam</p>"} if is_foreign and self._lie == "rewritten" and "content" in item else twisted


class PairVault:
    """One token for each server; implements `ports.Vault`."""

    def __init__(self, services: dict[str, SimulatedService]) -> None:
        self._vaults = {
            name: TokenVault("mastodon", list(each.tokens), name=name, base=f"https://{name}") for name, each in services.items()
        }

    def credentials(self) -> Sequence[Credential]:
        return [each for vault in self._vaults.values() for each in vault.credentials()]

    def secret(self, name: str) -> Secret:
        return self._vaults[name[:-1]].secret(name)

    def keep(self, secret: Secret) -> None:
        self._vaults[secret.name[:-1]].keep(secret)


class SharedVault(TokenVault):
    """One token that the user lets both servers know."""

    def credentials(self) -> Sequence[Credential]:
        (token,) = super().credentials()
        return [msgspec.structs.replace(token, name="both", servers=tuple(f"https://{name}" for name in SERVERS))]

    def secret(self, name: str) -> Secret:
        return super().secret("user1")


def with_pair(work: Callable[[Pair], Awaitable[Any]], second: str = "") -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Pair(clock, second))

    return run_virtual(main, start=START)


async def rows(crawl: Crawl, sql: str) -> list[tuple[Any, ...]]:
    async with crawl.database.reading() as tx:
        return [tuple(row) for row in await tx.fetch(sql)]


async def column(crawl: Crawl, sql: str) -> list[Any]:
    return [row[0] for row in await rows(crawl, sql)]


def number_of(uri: str) -> int:
    account = world().profiles.account_of(urlsplit(uri).path.rsplit("/", 1)[-1], 0)
    assert account is not None
    return account


def is_open(account: int) -> bool:
    return world().is_open(account, to_ms(START))


class Collected(msgspec.Struct, frozen=True):
    """What one crawl of both servers left behind."""

    ending: Ending
    users: dict[int, int]
    """The world's number of each stored user; left out are those who have left, of whom only a key is known."""
    posts: list[str]
    follows: list[tuple[int, int]]
    asked: list[tuple[str, str]]
    """Server and target of every list and timeline."""
    buckets: set[str]
    credentials: set[str]
    wanted: dict[int, set[str]]
    refused: int


@cache
def collected() -> Collected:
    async def work(pair: Pair) -> Collected:
        # All five are named by what the first server calls them, though some live on the second.
        keys = [pair.services["one.example"].dialect.account_key(number) for number in range(1, 6)]
        async with pair.crawl(keys) as crawl:
            ending = await pair.run(crawl)
            assert crawl.tally.given_up == 0
            known = await rows(crawl, "select user_no, id from users where id not like 'mastodon:%'")
            users = {user_no: number_of(uri) for user_no, uri in known}
            follows = await rows(crawl, "select source, target from relations where removed_at is null")
            asked = (
                "select services.name, target from tasks join lanes using (lane) join services using (service) where facet in "
            )
            return Collected(
                ending=ending,
                users=users,
                posts=[post.removesuffix("/activity") for post in await column(crawl, "select id from posts")],
                follows=[(users[source], users[target]) for source, target in follows],
                asked=[
                    (server, target) for server, target in await rows(crawl, asked + "('timeline', 'followers', 'following')")
                ],
                buckets={bucket.split("/")[0] for bucket in await column(crawl, "select bucket from ledgers")},
                credentials=set(await column(crawl, "select distinct credential from calls where facet <> 'survey'")),
                wanted={account: pair.posts_to_find(account) for account in range(len(world())) if is_open(account)},
                refused=sum(service.limiter.refused for service in pair.services.values()),
            )

    found: Collected = with_pair(work)
    return found


def test_users_and_posts_seen_on_both_servers_are_one_row_each() -> None:
    assert collected().ending.state == "finished"
    assert len(set(collected().users.values())) == len(collected().users) > 40
    assert len(set(collected().posts)) == len(collected().posts) > 500


def test_timelines_are_complete() -> None:
    wanted = {post for account in collected().users.values() for post in collected().wanted.get(account, ())}
    assert len(wanted) > 500
    assert not wanted - set(collected().posts)


def test_follower_lists_are_complete() -> None:
    """Between people who can be read and of whom one at least shows his network."""
    seen, hides = {each for each in collected().users.values() if is_open(each)}, world().people.hides_network
    true = {(each, int(other)) for each in seen for other in world().graph.following(each, to_ms(START))[0] if int(other) in seen}
    assert len(true) > 150
    assert {edge for edge in true if not (hides[edge[0]] and hides[edge[1]])} <= set(collected().follows)
    assert {edge for edge in collected().follows if set(edge) <= seen} <= true


def test_each_server_is_asked_for_lists_and_timelines_of_its_own_accounts_only() -> None:
    for server, target in collected().asked:
        account = Vantage(world(), server, SERVERS).ids.account_number(target)
        assert account is not None
        assert homes().home(account) == server
    assert {server for server, _ in collected().asked} == set(SERVERS)


def test_each_server_has_buckets_and_credentials_of_its_own_and_refuses_nothing() -> None:
    assert collected().buckets == set(SERVERS)
    assert collected().credentials == {f"{name}1" for name in SERVERS}
    assert collected().refused == 0


@cache
def at_home(lie: str) -> dict[str, tuple[Any, ...]]:
    """What a crawl of both servers holds of the first server's accounts and posts."""

    async def work(pair: Pair) -> dict[str, tuple[Any, ...]]:
        keys = [pair.services["one.example"].dialect.account_key(number) for number in range(1, 6)]
        async with pair.crawl(keys, lie=lie) as crawl:
            assert (await pair.run(crawl)).state == "finished"
            home = "where id like 'https://one.example/%'"
            users = await rows(crawl, f"select id, description, opts_out, created_at, avatar from users {home} and told_by = -1")
            posts = await rows(crawl, f"select id, text, deleted_at, author from posts {home} and told_by = -1")
            return {row[0]: row[1:] for row in (*users, *posts)}

    found: dict[str, tuple[Any, ...]] = with_pair(work)
    return found


@pytest.mark.parametrize("lie", ["nobot", *long("suspended", "rewritten")])
def test_what_one_server_shows_of_its_accounts_does_not_depend_on_what_another_says_of_them(lie: str) -> None:
    honest, lied = at_home(""), at_home(lie)
    assert len(honest) > 300
    assert {key: value[:-1] for key, value in lied.items()} == {key: value[:-1] for key, value in honest.items()}


@pytest.mark.parametrize("second", ["gotosocial", *long("takahe", "pleroma")])
def test_people_of_a_server_that_does_not_send_their_ids_are_one_row_each(second: str) -> None:
    async def work(pair: Pair) -> None:
        keys = [pair.services["one.example"].dialect.account_key(number) for number in range(1, 6)]
        async with pair.crawl(keys) as crawl:
            await pair.run(crawl)
            known = await column(crawl, "select id from users where id not like 'mastodon:%' and seen_at is not null")
            names = [name_in(uri) for uri in known]
            assert len(set(names)) == len(names) > 30
            assert {host for host, _ in names} == set(SERVERS)

    with_pair(work, second)


def name_in(uri: str) -> tuple[str, str]:
    """Server and name in any of the addresses of an account."""
    parts = urlsplit(uri)
    return parts.netloc, parts.path.strip("/").removeprefix("users/").removeprefix("@").partition("@")[0]


def test_a_seed_written_with_its_server_is_asked_about_there() -> None:
    async def work(pair: Pair) -> None:
        stranger = next(number for number in range(50) if homes().home(number) == "two.example" and is_open(number))
        name = world().profiles.at(stranger, 0).first_handle
        async with pair.crawl([f"@{name}@two.example"], depth=0) as crawl:
            assert (await pair.run(crawl)).state == "finished"
            (known,) = await column(crawl, f"select id from users where handle = '{name}@two.example'")
            assert known == f"https://two.example/users/{name}"
            stored = {post.removesuffix("/activity") for post in await column(crawl, "select id from posts")}
            assert pair.posts_to_find(stranger) <= stored
        assert pair.services["one.example"].calls == 1, "only what it is"

    with_pair(work)


def test_what_one_server_refuses_the_other_is_still_asked_with() -> None:
    async def work(pair: Pair) -> None:
        (token,) = pair.services["two.example"].tokens
        assert pair.services["one.example"].tokens.get(token.value) is None
        names = {number: world().profiles.at(number, 0).first_handle for number in range(50) if is_open(number)}
        seeds = [f"@{name}@{homes().home(number)}" for number, name in names.items()]
        async with pair.crawl(seeds, depth=0, shared=SharedVault("mastodon", [token])) as crawl:
            await pair.run(crawl)
            refused = "select s.name, c.credential from credentials c join services s on s.service = c.service"
            assert await rows(crawl, refused) == [("one.example", "both")]
            per_service = await rows(
                crawl,
                "select s.name, c.outcome, count(*) from calls c join lanes l on l.lane = c.lane "
                "join services s on s.service = l.service where c.credential = 'both' group by s.name, c.outcome",
            )
            calls = {(name, outcome): count for name, outcome, count in per_service}
            assert calls["one.example", "bad_token"] >= 3
            assert not any(name == "one.example" and outcome == "ok" for name, outcome in calls)
            assert {outcome for name, outcome in calls if name == "two.example"} == {"ok"}
            found = await column(crawl, "select handle from users where handle like '%@two.example'")
            assert len(found) > 5

    with_pair(work)
