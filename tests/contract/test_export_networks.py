"""Networks out of a store: who follows, mentions, answers and passes on whom, which hashtags go together; on either database."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from export_scene import filled
from store_pages import Crawled

from bowerbird.errors import UserError
from bowerbird.export.jobs.pseudonyms import Pseudonyms
from bowerbird.export.networks import Network, read_network, write
from bowerbird.ports import Database
from bowerbird.reports.blocks.choosing import Choice
from bowerbird.reports.blocks.networks import KINDS, NetworkReader


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await filled(database)


async def network_of(crawled: Crawled, kind: str, choice: Choice = Choice()) -> Network:  # noqa: B008 - frozen
    return await read_network(NetworkReader(crawled.database, kind, choice), kind)


def edges(network: Network) -> set[tuple[str, str, int]]:
    return {(arc.source, arc.target, int(str(arc.values["weight"]))) for arc in network.arcs()}


async def test_each_kind_has_its_edges_with_weights_and_without_the_unwanted(crawled: Crawled) -> None:
    expected = {
        "follow": {("x:2", "x:1", 1), ("x:3", "x:1", 1)},
        "mention": {("x:2", "x:1", 1)},
        "reply": {("x:2", "x:1", 1)},
        "repost": {("x:2", "x:1", 1), ("x:3", "x:2", 1)},
        "quote": {("x:3", "x:2", 1)},
        "co-hashtag": {("#flood", "#porto", 2), ("#flood", "#rain", 1), ("#porto", "#rain", 1)},
    }
    assert set(expected) == set(KINDS)
    for kind, found in expected.items():
        assert edges(await network_of(crawled, kind)) == found, kind


async def test_edges_have_their_first_and_last_time(crawled: Crawled) -> None:
    (arc,) = (await network_of(crawled, "mention")).arcs()
    assert arc.values["first"] == arc.values["last"] == "2026-04-10T12:00:00.000000Z"


async def test_edges_can_be_chosen(crawled: Crawled) -> None:
    assert edges(await network_of(crawled, "mention", Choice(languages=("de",)))) == set()
    assert edges(await network_of(crawled, "follow", Choice(users=("@u3",)))) == {("x:3", "x:1", 1)}
    with pytest.raises(UserError, match="no network of the kind"):
        await network_of(crawled, "friends")
    with pytest.raises(UserError, match="by words"):
        await network_of(crawled, "mention", Choice(words=("a",)))


async def test_graph_files_hold_every_node_and_edge(crawled: Crawled, tmp_path: Path) -> None:
    network = await network_of(crawled, "follow")
    for ending, name in (("gexf", "{http://gexf.net/1.3}"), ("graphml", "{http://graphml.graphdrawing.org/xmlns}")):
        (path,) = write(network, tmp_path / f"a.{ending}")
        tree = ET.parse(path)
        assert {node.get("id") for node in tree.iter(f"{name}node")} == {"x:1", "x:2", "x:3"}
        assert len(list(tree.iter(f"{name}edge"))) == 2
    tags = await network_of(crawled, "co-hashtag")
    (path,) = write(tags, tmp_path / "tags.gexf")
    assert 'defaultedgetype="undirected"' in path.read_text(encoding="utf-8")


async def test_a_folder_is_as_neo4j_imports_it(crawled: Crawled, tmp_path: Path) -> None:
    nodes, relations = write(await network_of(crawled, "mention"), tmp_path / "neo4j")
    people = {(row["id:ID"], row["handle"], row[":LABEL"]) for row in csv.DictReader(nodes.read_text("utf-8").splitlines())}
    assert people == {("x:1", "u1", "Account"), ("x:2", "u2", "Account")}
    (edge,) = csv.DictReader(relations.read_text("utf-8").splitlines())
    assert (edge[":START_ID"], edge[":END_ID"], edge["weight:long"], edge[":TYPE"]) == ("x:2", "x:1", "1", "MENTIONS")
    with pytest.raises(UserError, match="exists already"):
        write(await network_of(crawled, "mention"), tmp_path / "neo4j")


async def test_a_network_may_be_of_pseudonyms(crawled: Crawled) -> None:
    names = Pseudonyms(b"k" * 32)
    network = await read_network(NetworkReader(crawled.database, "follow", Choice()), "follow", names)
    assert {node[0] for node in network.nodes} == {names.of_id(f"x:{n}") for n in (1, 2, 3)}
