"""What walks are read from, on both databases: memories, profiles, and who leads to whom."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.crawl.life import registry
from bowerbird.frontier import TaskFrontier
from bowerbird.model import Arrival, Facet, Page, Placement, Relation, RelationKind, Service, Side, Subject, User
from bowerbird.policies.graph_walks.walking import Node
from bowerbird.ports import Database
from bowerbird.reports.studies.sample import enough
from bowerbird.reports.studies.walks import WalkLane, read_lanes, read_users, read_walk, stored_links
from bowerbird.store import Store

NOW = datetime(2026, 11, 15, tzinfo=UTC)
FOLLOWING = Facet(name="following", subject=Subject.USER, yields=frozenset({"relations"}), side=Side.FOLLOWING)
NETWORKS = pytest.mark.parametrize(
    ("provider", "network"), [("twitter_v1", "x"), ("mastodon", "mastodon"), ("bluesky", "bluesky")]
)


class Walked:
    """A lane of one service in which some accounts were listed."""

    def __init__(self, database: Database, provider: str, network: str) -> None:
        self.database = database
        self.service = Service(name="there", provider=provider, base="https://there.example")
        self.network = network
        self.number = self.lane = 0

    async def register(self, flow: str = "{}") -> Walked:
        async with self.database.transaction() as tx:
            crawl = (await registry.enrol_crawl(tx, "walk", flow, "{}", NOW)).crawl
            self.number = await registry.enrol_service(tx, self.service, self.network)
            self.lane = await registry.enrol_lane(tx, crawl, self.number, "following")
        return self

    async def add(self, *keys: str) -> None:
        await self.remember({key: key.encode() for key in keys})

    async def remember(self, memories: Mapping[str, bytes]) -> None:
        frontier = TaskFrontier(self.database, lambda: 1, lease=timedelta(minutes=3), call=timedelta(minutes=1))
        async with self.database.transaction() as tx:
            arrivals = [(Arrival(lane=self.lane, target=key), Placement(0.0, NOW, each)) for key, each in memories.items()]
            await frontier.add(tx, arrivals, None, NOW)

    async def listed(self, key: str, *others: str) -> None:
        relations = tuple(Relation(RelationKind.FOLLOW, key, other) for other in others)
        users = tuple(self.user(each) for each in (key, *others))
        page = Page(relations=relations, users=users, results=len(others))
        frontier = TaskFrontier(self.database, lambda: 1, lease=timedelta(minutes=3), call=timedelta(minutes=1))
        async with self.database.transaction() as tx:
            known = await frontier.known(tx, [Arrival(lane=self.lane, target=key)])
            tasks = list(known.values())
            await Store(self.database).save(tx, page, service=self.service, tasks=tasks, facet=FOLLOWING, call=1, now=NOW)

    def user(self, key: str) -> User:
        ids = {"x": f"x:{key}", "mastodon": f"https://there.example/users/{key}", "bluesky": key}
        return User(id=ids[self.network], key=key, handle=f"name{key}", followers=3, following=4)

    async def to(self, target: str) -> list[str]:
        links = stored_links(self.service, self.number, self.network, FOLLOWING)
        assert links is not None
        async with self.database.reading() as tx:
            return list(await links.to(tx, self.lane, target))

    async def row(self) -> WalkLane:
        (lane,) = await read_lanes(self.database)
        return lane


@NETWORKS
async def test_only_those_lead_to_an_account_who_were_listed_and_are_targets_of_the_lane(
    database: Database, provider: str, network: str
) -> None:
    walked = await Walked(database, provider, network).register()
    await walked.add("1", "2", "3")
    await walked.listed("1", "2", "3")
    await walked.listed("2", "3")
    await walked.listed("4", "3")
    assert await walked.to("3") == ["1", "2"]
    assert await walked.to("2") == ["1"]
    assert await walked.to("1") == []


@NETWORKS
async def test_memories_and_profiles_are_read_by_the_keys_of_the_service(database: Database, provider: str, network: str) -> None:
    walked = await Walked(database, provider, network).register()
    await walked.add("1", "2", "3")
    await walked.listed("1", "2")
    lane = await walked.row()
    assert (lane.crawl, lane.service, lane.facet) == ("walk", "there", "following")
    assert {target: bytes(memory) async for target, memory in read_walk(database, lane)} == {"1": b"1", "2": b"2", "3": b"3"}
    users = await read_users(database, lane, ["1", "2", "3"])
    assert {key: (row["handle"], row["followers"], bool(row["is_gone"])) for key, row in users.items()} == {
        "1": ("name1", 3, False),
        "2": ("name2", 3, False),
    }


async def test_a_facet_that_lists_no_relations_has_no_links(database: Database) -> None:
    walked = await Walked(database, "twitter_v1", "x").register()
    assert stored_links(walked.service, walked.number, "x", None) is None


GOOD_ENOUGH = """{"facets": [{"name": "following", "ranker": "rwrw"}],
"stop": {"half_width": 0.12, "estimates": ["followers"]}}"""


async def test_a_crawl_goes_on_until_nearly_all_whom_it_met_were_looked_up(database: Database) -> None:
    """Few profiles look alike: what they say is no estimate yet, however narrow its interval."""
    walked = await Walked(database, "twitter_v1", "x").register(GOOD_ENOUGH)
    nodes = [Node(4, trace=[(walker, float(n + 40 * lap)) for walker in range(5) for lap in range(3)]) for n in range(40)]
    await walked.remember({str(n): node.encoded() for n, node in enumerate(nodes)})
    for looked_up in (1, 10, 31):
        await walked.listed("0", *(str(n) for n in range(1, looked_up)))
        assert await enough(database, "walk") == ""
    await walked.listed("0", *(str(n) for n in range(1, 40)))
    assert await enough(database, "walk") == "good enough: followers 3 (3 to 3)"
