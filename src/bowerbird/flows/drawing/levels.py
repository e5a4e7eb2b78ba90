"""How far each facet is from the seeds when edges that lead back are left out: the rows of a drawing."""

from __future__ import annotations

from msgspec.structs import replace

from bowerbird.flows.flow import STREAM, FacetUse, Flow


def with_stream(flow: Flow) -> Flow:
    """The flow with a box for its streams, if it listens to any: a drawing shows where everything comes from."""
    return replace(flow, facets=(FacetUse(STREAM), *flow.facets)) if flow.listens else flow


def facet_ranks(flow: Flow) -> dict[str, int]:
    """Rank by facet in the order of the flow: one more than the farthest facet that leads there without a loop."""
    ahead = _forward_edges(flow)
    ranks = {use.name: 0 for use in flow.facets}
    # Without loops the longest way has fewer edges than there are facets: so many rounds settle every rank.
    for _ in flow.facets:
        for source, to in ahead:
            ranks[to] = max(ranks[to], ranks[source] + 1)
    return ranks


def _forward_edges(flow: Flow) -> set[tuple[str, str]]:
    """The edges of a walk from the seeds that do not return to where the walk came from."""
    names = [use.name for use in flow.facets]
    ahead: set[tuple[str, str]] = set()
    finished: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> None:
        for edge in flow.edges_from(name):
            if edge.to in way or edge.to not in names:
                continue
            ahead.add((name, edge.to))
            if edge.to not in finished:
                walk(edge.to, (*way, edge.to))
        finished.add(name)

    for name in _starts(flow, names):
        if name not in finished:
            walk(name, (name,))
    return ahead


def _starts(flow: Flow, names: list[str]) -> list[str]:
    """Seeded facets that nothing leads to come first, so that a drawing begins where a crawl does."""
    entered = {edge.to for edge in flow.edges if edge.to != edge.source}
    seeds = [name for name in flow.seeds if name in names]
    return sorted(seeds, key=lambda name: name in entered) + names
