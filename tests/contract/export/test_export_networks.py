"""Networks out of a store: who follows, mentions, answers and passes on whom, which hashtags go together; on either database."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from export_scene import SOURCE, filled
from store_pages import FOLLOWERS, Crawled, followers

from bowerbird.clock import RealClock
from bowerbird.db.moment import one_moment
from bowerbird.errors import UserError
from bowerbird.export.jobs.manifest import Manifest
from bowerbird.export.jobs.pseudonyms import Pseudonyms
from bowerbird.export.jobs.request import Request
from bowerbird.export.networks.job import export_network
from bowerbird.model import Page
from bowerbird.ports import Database
from bowerbird.reports.blocks.networks import KINDS
from bowerbird.reports.blocks.selection.choosing import Choice
from failures import raises_code


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await filled(database)


async def written(crawled: Crawled, kind: str, out: Path, **options: Any) -> Manifest:
    async with one_moment(crawled.database) as moment:
        request = Request(what="network", out=str(out), **options)
        return await export_network(moment, request, kind, SOURCE, RealClock())


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def decoded(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def lines(crawled: Crawled, kind: str, out: Path, **options: Any) -> tuple[list[Any], list[Any]]:
    """Nodes and edges."""
    await written(crawled, kind, out, **options)
    told = decoded(out)
    return [line for line in told if "node" in line], [line for line in told if "source" in line]


async def edges(crawled: Crawled, kind: str, out: Path, **options: Any) -> set[tuple[str, str, int]]:
    _, found = await lines(crawled, kind, out, **options)
    return {(edge["source"], edge["target"], edge["weight"]) for edge in found}


async def test_each_kind_has_its_edges_with_weights_and_without_the_unwanted(crawled: Crawled, tmp_path: Path) -> None:
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
        nodes, told = await lines(crawled, kind, tmp_path / f"{kind}.jsonl")
        assert {(edge["source"], edge["target"], edge["weight"]) for edge in told} == found, kind
        assert {node["node"] for node in nodes} >= {end for edge in found for end in edge[:2]}
        assert "x:4" not in {node["node"] for node in nodes}


async def test_edges_have_their_first_and_last_time(crawled: Crawled, tmp_path: Path) -> None:
    _, (edge,) = await lines(crawled, "mention", tmp_path / "a.jsonl")
    assert edge["first"] == edge["last"] == "2026-04-10T12:00:00.000000Z"


async def test_edges_can_be_chosen(crawled: Crawled, tmp_path: Path) -> None:
    assert await edges(crawled, "mention", tmp_path / "a.jsonl", choice=Choice(languages=("de",))) == set()
    assert await edges(crawled, "follow", tmp_path / "b.jsonl", choice=Choice(users=("@u3",))) == {("x:3", "x:1", 1)}
    with raises_code(UserError, "unknown_network") as caught:
        await written(crawled, "friends", tmp_path / "c.jsonl")
    assert "'friends'" in str(caught.value)
    with raises_code(UserError, "unsupported") as caught:
        await written(crawled, "mention", tmp_path / "d.jsonl", choice=Choice(words=("a",)))
    assert "--word" in str(caught.value)
    with raises_code(UserError, "unknown_format") as caught:
        await written(crawled, "mention", tmp_path / "e.csv")
    assert "e.csv" in str(caught.value)
    assert {name.partition(".")[0] for name in names_in(tmp_path)} == {"a", "b"}


async def test_weak_and_one_sided_edges_can_be_left_out(crawled: Crawled, tmp_path: Path) -> None:
    often = Choice(at_least=(("weight", 2),))
    assert await edges(crawled, "co-hashtag", tmp_path / "a.jsonl", choice=often) == {("#flood", "#porto", 2)}
    nodes, told = await lines(crawled, "reply", tmp_path / "b.jsonl", choice=often)
    assert (nodes, told) == ([], [])
    assert await edges(crawled, "repost", tmp_path / "c.jsonl", is_mutual=True) == set()
    await crawled.save(Page(relations=followers("2", "1")), FOLLOWERS, "2")
    nodes, told = await lines(crawled, "follow", tmp_path / "d.jsonl", is_mutual=True)
    assert {(edge["source"], edge["target"]) for edge in told} == {("x:1", "x:2"), ("x:2", "x:1")}
    assert {node["node"] for node in nodes} == {"x:1", "x:2"}, "whom nobody follows back is no node"
    with raises_code(UserError, "unsupported") as caught:
        await written(crawled, "follow", tmp_path / "e.jsonl", choice=often)
    assert "--least" in str(caught.value)
    with raises_code(UserError, "unsupported") as caught:
        await written(crawled, "co-hashtag", tmp_path / "f.jsonl", is_mutual=True)
    assert "--mutual" in str(caught.value)


async def test_graph_files_hold_every_node_and_edge(crawled: Crawled, tmp_path: Path) -> None:
    for ending, name in (("gexf", "{http://gexf.net/1.3}"), ("graphml", "{http://graphml.graphdrawing.org/xmlns}")):
        await written(crawled, "follow", tmp_path / f"a.{ending}")
        tree = ET.parse(tmp_path / f"a.{ending}")
        assert {node.get("id") for node in tree.iter(f"{name}node")} == {"x:1", "x:2", "x:3"}
        assert len(list(tree.iter(f"{name}edge"))) == 2
        await written(crawled, "quote", tmp_path / f"none.{ending}", choice=Choice(languages=("de",)))
        assert not list(ET.parse(tmp_path / f"none.{ending}").iter(f"{name}edge"))
    await written(crawled, "co-hashtag", tmp_path / "tags.gexf")
    assert 'defaultedgetype="undirected"' in (tmp_path / "tags.gexf").read_text(encoding="utf-8")


async def test_a_folder_is_as_neo4j_imports_it(crawled: Crawled, tmp_path: Path) -> None:
    await written(crawled, "mention", tmp_path / "neo4j")
    nodes, relations = (tmp_path / "neo4j" / f"{name}.csv" for name in ("nodes", "relationships"))
    people = {(row["id:ID"], row["handle"], row[":LABEL"]) for row in csv.DictReader(nodes.read_text("utf-8").splitlines())}
    assert people == {("x:1", "u1", "Account"), ("x:2", "u2", "Account")}
    (edge,) = csv.DictReader(relations.read_text("utf-8").splitlines())
    assert (edge[":START_ID"], edge[":END_ID"], edge["weight:long"], edge[":TYPE"]) == ("x:2", "x:1", "1", "MENTIONS")
    with raises_code(UserError, "already_exists") as caught:
        await written(crawled, "mention", tmp_path / "neo4j")
    assert "nodes.csv" in str(caught.value)


async def test_a_network_may_be_of_pseudonyms(crawled: Crawled, tmp_path: Path) -> None:
    names = Pseudonyms(b"k" * 32)
    nodes, _ = await lines(crawled, "follow", tmp_path / "a.jsonl", pseudonyms=names)
    assert {node["node"] for node in nodes} == {names.of_id(f"x:{n}") for n in (1, 2, 3)}


async def test_a_manifest_has_the_checksums_of_the_files(crawled: Crawled, tmp_path: Path) -> None:
    for out, manifest in (("a.graphml", "a.graphml.manifest.json"), ("neo4j", "neo4j/_network.manifest.json")):
        await written(crawled, "follow", tmp_path / out)
        told = json.loads((tmp_path / manifest).read_text(encoding="utf-8"))
        assert (told["what"], told["options"]["kind"], told["nodes"], told["rows"]) == ("network", "follow", 3, 2)
        for file in told["files"]:
            content = ((tmp_path / manifest).parent / file["name"]).read_bytes()
            assert (len(content), sha256(content).hexdigest()) == (file["bytes"], file["sha256"])
    assert not [name for name in names_in(tmp_path) if name.endswith(".part")]
