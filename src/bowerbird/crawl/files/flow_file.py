"""A flow written in TOML, read into the same object that Python code would make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.crawl.files.flow_check import problems
from bowerbird.crawl.files.language.located import Document, read
from bowerbird.crawl.files.language.tables import Table
from bowerbird.crawl.flow import Edge, FacetUse, Filters, Flow, Stop
from bowerbird.model import Facet

FLOW_KEYS = ("name", "about", "seeds", "weight", "facets", "edges", "stop", "filters")
FACET_KEYS = ("ranker", "options", "weight", "revisit", "max_pages", "hints")
EDGE_KEYS = ("from", "to", "take", "when", "wakes")
STOP_KEYS = ("calls", "items", "users", "posts", "duration", "when_empty")
FILTER_KEYS = ("languages", "keywords", "follow_opted_out", "max_depth", "max_users")


def parse_flow(text: str, file: str, facets: Mapping[str, Facet], rankers: Mapping[str, frozenset[str]]) -> Flow:
    """The flow a text declares; raises `FlowError` naming file and line."""
    return flow_of(read(text, file), facets, rankers)


def flow_of(document: Document, facets: Mapping[str, Facet], rankers: Mapping[str, frozenset[str]]) -> Flow:
    """The flow of a document; the whole file is a flow."""
    flow = _flow(Table(document))
    for problem in problems(flow, facets, rankers):
        raise document.wrong(problem.path, problem.message)
    return flow


def _flow(table: Table) -> Flow:
    table.only(FLOW_KEYS, "a flow")
    return Flow(
        name=table.required("name", 'name = "timelines"'),
        about=table.text("about").strip(),
        seeds=table.texts("seeds"),
        weight=table.number("weight", 1.0),
        facets=tuple(_facet_use(name, inner) for name, inner in table.named("facets")),
        edges=tuple(_edge(inner) for inner in table.tables("edges")),
        stop=stop_of(table.table("stop")),
        filters=_filters(table.table("filters")),
    )


def _facet_use(name: str, table: Table) -> FacetUse:
    table.only(FACET_KEYS, f"the facet {name!r}")
    return FacetUse(
        name,
        ranker=table.text("ranker", "fifo"),
        options=_scalars(table.table("options")),
        weight=table.number("weight", 1.0),
        revisit=table.span("revisit"),
        max_pages=table.count("max_pages"),
        hints={key: _hint(value) for key, value in _scalars(table.table("hints")).items()},
    )


def _scalars(table: Table) -> dict[str, Any]:
    for key, value in table.values.items():
        if not isinstance(value, (str, int, float, bool)):
            raise table.wrong(key, f"{key} must be a text, a number, true or false, not {value!r:.60}")
    return table.values


def _hint(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _edge(table: Table) -> Edge:
    table.only(EDGE_KEYS, "an edge")
    return Edge(
        source=table.required("from", 'from = "profiles"'),
        to=table.required("to", 'to = "timeline"'),
        take=table.required("take", 'take = "users"'),
        when=table.text("when"),
        wakes=table.truth("wakes", False) if "wakes" in table.values else None,
    )


def stop_of(table: Table) -> Stop:
    """The stop conditions of a `[stop]` table."""
    table.only(STOP_KEYS, "[stop]")
    return Stop(
        calls=table.count("calls"),
        items=table.count("items"),
        users=table.count("users"),
        posts=table.count("posts"),
        duration=table.span("duration"),
        when_empty=table.truth("when_empty", True),
    )


def _filters(table: Table) -> Filters:
    table.only(FILTER_KEYS, "[filters]")
    depth = table.values.get("max_depth")
    return Filters(
        languages=table.texts("languages"),
        keywords=table.texts("keywords"),
        follow_opted_out=table.truth("follow_opted_out", False),
        max_depth=0 if depth == 0 and not isinstance(depth, bool) else table.count("max_depth"),
        max_users=table.count("max_users"),
    )
