"""A flow written in TOML, read into the same object that Python code would make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bowerbird.flows.files.flow_check import Path, problems, reachable
from bowerbird.flows.flow import Edge, FacetUse, Filters, Flow, Stop, Vocabulary
from bowerbird.flows.keywords import keyword_use
from bowerbird.flows.language.tables import Table
from bowerbird.flows.language.toml_lines import Document, read
from bowerbird.flows.modules import module_uses
from bowerbird.model import Facet
from bowerbird.model.modules import Modules
from bowerbird.model.subjects.keywords import Methods

FLOW_KEYS = ("name", "about", "seeds", "weight", "facets", "edges", "stop", "filters", "keywords", "modules")
FACET_KEYS = (
    "ranker",
    "options",
    "weight",
    "revisit",
    "max_pages",
    "large_share",
    "large_after",
    "optional",
    "unless_paid",
    "on",
    "hints",
    "credentials",
)
EDGE_KEYS = ("from", "to", "take", "when", "wakes", "optional", "instead")
STOP_KEYS = ("calls", "items", "users", "posts", "dollars", "duration", "spread", "when_empty", "half_width", "estimates")
FILTER_KEYS = ("languages", "keywords", "when", "follow_opted_out", "max_depth", "max_users", "max_followers", "max_following")


Words = Mapping[str, frozenset[str]]
"""Names, and the options of each."""
NO_METHODS: Methods = {}


def parse_flow(
    text: str,
    file: str,
    facets: Mapping[str, Facet],
    rankers: Words,
    methods: Methods = NO_METHODS,
    modules: Modules | None = None,
) -> Flow:
    """The flow a text declares; raises `FlowError` naming file and line."""
    return flow_of(read(text, file), facets, rankers, methods, modules)


def flow_of(
    document: Document,
    facets: Mapping[str, Facet],
    rankers: Words,
    methods: Methods = NO_METHODS,
    modules: Modules | None = None,
) -> Flow:
    """The flow of a document; the whole file is a flow. `rankers`, `methods` (of keywords) and `modules` are those it may name;
    modules are not checked where they are not told."""
    table = Table(document)
    whole = _flow(table, methods, modules)
    flow = _switched(whole, table)
    for problem in problems(flow, facets, rankers):
        written = _as_written(problem.path, flow, whole, table)
        raise document.wrong(written, problem.problem, problem.advice, code=problem.code)
    return flow


def _switched(flow: Flow, table: Table) -> Flow:
    """The flow without the facets that are switched off, and without those that only they led to."""
    off = {name for name, inner in table.named("facets") if not inner.truth("on", True)}
    if not off:
        return flow
    kept = flow.without(off)
    return kept.without(reachable(flow) - reachable(kept))


def _as_written(path: Path, flow: Flow, whole: Flow, table: Table) -> Path:
    """The place in the file: edges to and from what is switched off are written there too, and one table may be several edges."""
    if len(path) < 2 or path[0] != "edges":
        return path
    tables = [number for number, inner in enumerate(table.tables("edges")) for _ in inner.texts("to")]
    return ("edges", tables[[each is flow.edges[int(path[1])] for each in whole.edges].index(True)], *path[2:])


def _flow(table: Table, methods: Methods, modules: Modules | None) -> Flow:
    table.only(FLOW_KEYS, "a flow")
    return Flow(
        name=table.required("name", 'name = "timelines"'),
        about=table.text("about").strip(),
        seeds=table.texts("seeds"),
        weight=table.number("weight", 1.0),
        facets=tuple(_facet_use(name, inner) for name, inner in table.named("facets")),
        edges=tuple(edge for inner in table.tables("edges") for edge in _edges(inner)),
        stop=stop_of(table.table("stop")),
        filters=_filters(table.table("filters")),
        keywords=keyword_use(table, methods),
        modules=module_uses(table, modules, frozenset(name for name, inner in table.named("facets") if inner.truth("on", True))),
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
        large_share=table.number("large_share", 0.0) if "large_share" in table.values else None,
        large_after=table.count("large_after", 5) or 5,
        optional=table.truth("optional", False),
        # Whoever writes that it is on wants it whatever it costs.
        unless_paid=table.truth("unless_paid", False) and "on" not in table.values,
        hints={key: _hint(value) for key, value in _scalars(table.table("hints")).items()},
        credentials=table.texts("credentials"),
    )


def _scalars(table: Table) -> dict[str, Any]:
    for key, value in table.values.items():
        if not isinstance(value, (str, int, float, bool)):
            raise table.wrong(key, f"{key} must be a text, a number, true or false, not {value!r:.60}")
    return table.values


def _hint(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _edges(table: Table) -> list[Edge]:
    """One edge for each facet that the table leads to."""
    table.only(EDGE_KEYS, "an edge")
    if not table.texts("to"):
        table.required("to", 'to = "timeline"')
    edge = Edge(
        source=table.required("from", 'from = "profiles"'),
        to="",
        take=table.required("take", 'take = "users"'),
        when=table.text("when"),
        wakes=table.truth("wakes", False) if "wakes" in table.values else None,
        optional=table.truth("optional", False),
        instead=table.truth("instead", False),
    )
    return [msgspec.structs.replace(edge, to=name) for name in table.texts("to")]


def stop_of(table: Table) -> Stop:
    """The stop conditions of a `[stop]` table."""
    table.only(STOP_KEYS, "[stop]")
    return Stop(
        calls=table.count("calls"),
        items=table.count("items"),
        users=table.count("users"),
        posts=table.count("posts"),
        dollars=table.dollars("dollars"),
        duration=table.span("duration"),
        spread=table.truth("spread", False),
        when_empty=table.truth("when_empty", True),
        half_width=table.number("half_width", 0.0) if "half_width" in table.values else None,
        estimates=table.texts("estimates") or ("degree",),
    )


def _filters(table: Table) -> Filters:
    table.only(FILTER_KEYS, "[filters]")
    depth = table.values.get("max_depth")
    return Filters(
        languages=table.texts("languages"),
        keywords=table.texts("keywords"),
        when=table.text("when", ""),
        follow_opted_out=table.truth("follow_opted_out", False),
        max_depth=0 if depth == 0 and not isinstance(depth, bool) else table.count("max_depth"),
        max_users=table.count("max_users"),
        max_followers=table.count("max_followers"),
        max_following=table.count("max_following"),
    )


def built_in_flow(name: str, words: Vocabulary) -> Flow:
    """The flow of a built-in name."""
    document = read(words.flows[name], f"built-in flow {name!r}")
    return flow_of(document, words.facets(), words.rankers, words.methods, words.modules)
