"""Drawings of flows: every facet, edge and condition is there, nothing overlaps, loops included."""

from __future__ import annotations

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from bowerbird.flows.built_in import builtin_flows
from bowerbird.flows.drawing import as_svg, as_text
from bowerbird.flows.drawing.levels import facet_ranks
from bowerbird.flows.files.flow_file import parse_flow
from bowerbird.flows.flow import Edge, FacetUse, Filters, Flow, Stop
from bowerbird.flows.modules import ModuleUse
from bowerbird.policies import RANKERS
from marks import examples

FLOWS = {name: parse_flow(text, name, {}, RANKERS) for name, text in builtin_flows().items()}
LOOP = Flow(
    name="loop",
    facets=(FacetUse("search", ranker="circular", revisit=timedelta(minutes=5)), FacetUse("timeline", max_pages=3)),
    edges=(
        Edge("search", "timeline", "authors", "new"),
        Edge("timeline", "search", "tags"),
        Edge("timeline", "timeline", "authors"),
    ),
    seeds=("search",),
    stop=Stop(posts=1000, duration=timedelta(days=1)),
    filters=Filters(languages=("pt",), max_users=10, follow_opted_out=True),
)

TIMELINES = """\
          ┌──────────────────┐
seeds ──▶ │ profiles         ├─3──────────┐
          │ two_stage        │◀───┐       │
          │ ↻ again after 5m ├─2──┼───┐   │
          │ weight 2         │    │   │   │
          └──────────────────┘    │   │   │
          ┌──────────────────┐    │   │   │
seeds ──▶ │ profile          ├─1──┘   │   │
          │ fifo             │◀───────┘   │
          └──────────────────┘            │
          ┌──────────────────┐            │
          │ timeline         │◀───────────┘
          │ two_stage        │
          │ weight 3         │
          └──────────────────┘

  1  profile → profiles   asked
  2  profiles → profile   missing
  3  profiles → timeline  asked when news and not protected (wakes)
"""


def test_the_text_drawing_reads_from_the_seeds_down() -> None:
    picture, edges, end = as_text(FLOWS["timelines"]).split("\n\n")[1:]
    assert f"{picture}\n\n{edges}\n" == TIMELINES
    assert not re.search(r"\d", end), "nothing ends this flow"


def test_a_loop_is_drawn_as_an_arc_that_comes_back() -> None:
    text = as_text(LOOP)
    assert "3  timeline → timeline  authors" in text
    assert "1  search → timeline    authors when new (wakes)" in text
    assert re.search(r"\b1,000 posts\b.*\b1d\b", text)
    assert "max users 10" in text
    assert "languages pt" in text
    assert "3 pages" in text
    heeds = structs.replace(LOOP, filters=structs.replace(LOOP.filters, follow_opted_out=False))
    (told,) = set(text.splitlines()) - set(as_text(heeds).splitlines())
    assert told.strip()
    assert text.count("◀") == 3


@pytest.mark.parametrize("flow", [*FLOWS.values(), LOOP], ids=lambda flow: flow.name)
def test_the_image_shows_every_facet_edge_and_condition(flow: Flow) -> None:
    root = ElementTree.fromstring(as_svg(flow))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {use.name for use in flow.facets} <= set(texts)
    takes = {edge.take for edge in flow.edges}
    # A facet may have the name of what an edge takes.
    assert sum(text in takes for text in texts) == len(flow.edges) + sum(use.name in takes for use in flow.facets)
    arrows = [element for element in root.iter("{http://www.w3.org/2000/svg}path") if element.get("marker-end")]
    assert len(arrows) == len(flow.edges) + len(flow.seeds)


def test_names_cannot_break_the_image() -> None:
    svg = as_svg(Flow('<b>&"x"', (FacetUse("a", hints={"q": "<script>"}),), seeds=("a",), about="1 < 2"))
    assert "<script>" not in svg
    assert ElementTree.fromstring(svg).get("aria-label") == 'crawl flow <b>&"x"'


def _boxes(svg: str) -> list[tuple[float, float, float, float]]:
    found = re.findall(r'<rect class="(?:box|label|seeds)" x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"', svg)
    return [(float(x), float(y), float(x) + float(width), float(y) + float(height)) for x, y, width, height in found]


_names = "abcdef"
_edges = st.lists(st.tuples(st.sampled_from(_names), st.sampled_from(_names)), min_size=0, max_size=12)


def _flow(pairs: list[tuple[str, str]]) -> Flow:
    edges = tuple(Edge(source, to, "users", "depth < 3 and followers < 500 and not bot") for source, to in pairs)
    return Flow("any", tuple(FacetUse(name) for name in _names), edges, ("a",))


@settings(max_examples=examples(40), deadline=None)
@given(_edges)
def test_nothing_overlaps_in_any_image(pairs: list[tuple[str, str]]) -> None:
    boxes = _boxes(as_svg(_flow(pairs)))
    assert len(boxes) == 1 + len(_names) + len(pairs)
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


@settings(max_examples=examples(40), deadline=None)
@given(_edges)
def test_every_edge_of_any_flow_leaves_and_arrives_in_the_text(pairs: list[tuple[str, str]]) -> None:
    drawn = as_text(_flow(pairs)).split("\n\n")[1]
    assert drawn.count("◀") == len(pairs)
    leaving = sorted(int(number) for number in re.findall(r"├─(\d+)", drawn))
    assert leaving == list(range(1, len(pairs) + 1))


@given(_edges)
def test_ranks_grow_along_edges_except_where_a_loop_returns(pairs: list[tuple[str, str]]) -> None:
    flow = _flow(pairs)
    ranks = facet_ranks(flow)
    assert max(ranks.values()) < len(_names)
    acyclic = [(source, to) for source, to in pairs if source < to]
    forward = facet_ranks(_flow(acyclic))
    assert all(forward[source] < forward[to] for source, to in acyclic)


def test_the_modules_of_a_flow_are_named() -> None:
    assert "modules: growth, mentions" in as_text(
        structs.replace(LOOP, modules=(ModuleUse(name="growth"), ModuleUse(name="mentions")))
    )
    assert "modules" not in as_text(LOOP)
