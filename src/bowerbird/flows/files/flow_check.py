"""What is wrong with a flow: every problem with the path of the key that causes it. Serves TOML and Python alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bowerbird.errors import FlowError
from bowerbird.flows.flow import ESTIMATES, HEARD, STREAM, TAKES, Edge, FacetUse, Flow
from bowerbird.flows.keywords import BACKGROUND
from bowerbird.flows.language import condition
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.model import Facet

Path = tuple[str | int, ...]


class Problem(NamedTuple):
    path: Path
    problem: str
    advice: str = ""
    code: str = ""


def check(flow: Flow, facets: Mapping[str, Facet], rankers: Mapping[str, frozenset[str]]) -> Flow:
    """The flow itself if it can run with these facets and rankers; raises `FlowError` for the first problem."""
    for problem in problems(flow, facets, rankers):
        spelled = f"{_spelled(problem.path)}: {problem.problem}"
        raise FlowError(spelled, problem.advice, code=problem.code, file=f"flow {flow.name!r}")
    return flow


def problems(flow: Flow, facets: Mapping[str, Facet], rankers: Mapping[str, frozenset[str]]) -> Iterator[Problem]:
    """Every problem, in the order of the file."""
    if not flow.facets:
        yield Problem(("facets",), "the flow uses no facet", "add a table such as [facets.timeline]", code="missing_value")
        return
    for use in flow.facets:
        yield from _facet_problems(use, facets, rankers)
    names = [use.name for use in flow.facets]
    yield from _doubled(names)
    for number, edge in enumerate(flow.edges):
        yield from _edge_problems(("edges", number), edge, names, {**facets, STREAM: HEARD})
    yield from _seed_problems(flow, names, facets)
    yield from _lost_facets(flow, names, rankers)
    yield from _endless_wakes(flow)
    yield from _filter_problems(flow.filters.when)
    yield from _size_problems(flow)
    yield from _sample_problems(flow, rankers)
    yield from _spread_problems(flow)


def _spelled(path: Path) -> str:
    return ".".join(str(part) for part in path)


def _facet_problems(use: FacetUse, facets: Mapping[str, Facet], rankers: Mapping[str, frozenset[str]]) -> Iterator[Problem]:
    at: Path = ("facets", use.name)
    if facets and use.name not in facets and not use.optional:
        yield Problem(
            at, f"unknown facet {use.name!r}{meant(use.name, facets)}", f"allowed: {listed(facets)}", code="unknown_name"
        )
    if use.ranker not in rankers:
        yield Problem(
            (*at, "ranker"),
            f"unknown ranker {use.ranker!r}{meant(use.ranker, rankers)}",
            f"allowed: {listed(rankers)}",
            code="unknown_name",
        )
    else:
        yield from _option_problems((*at, "options"), use, rankers[use.ranker])
    if not 0 < use.weight < float("inf"):
        yield Problem((*at, "weight"), f"weight must be above 0, not {use.weight}")
    if use.large_share is not None and not 0 < use.large_share < 1:
        yield Problem((*at, "large_share"), f"large_share is a part of the calls, between 0 and 1, not {use.large_share:g}")


def _option_problems(at: Path, use: FacetUse, allowed: frozenset[str]) -> Iterator[Problem]:
    for option in use.options:
        if option not in allowed:
            problem = f"the ranker {use.ranker!r} has no option {option!r}{meant(option, allowed)}"
            yield Problem((*at, option), problem, f"allowed: {listed(allowed)}", code="unknown_name")


def _doubled(names: list[str]) -> Iterator[Problem]:
    for number, name in enumerate(names):
        if name in names[:number]:
            yield Problem(
                ("facets", name), f"the facet {name!r} is used twice; a flow asks each question in one way", code="already_exists"
            )


def _edge_problems(at: Path, edge: Edge, names: list[str], facets: Mapping[str, Facet]) -> Iterator[Problem]:
    for key, end in (("from", edge.source), ("to", edge.to)):
        if end not in names and (key, end) != ("from", STREAM):
            yield Problem(
                (*at, key),
                f"the edge's {key!r} names {end!r}{meant(end, names)}, which the flow does not use",
                f"it uses: {listed(names)}",
                code="unknown_name",
            )
    if edge.take not in TAKES:
        yield Problem(
            (*at, "take"),
            f"unknown take {edge.take!r}{meant(edge.take, TAKES)}",
            f"allowed: {listed(TAKES)}",
            code="unknown_name",
        )
    else:
        yield from _fit_problems(at, edge, facets)
    if edge.when:
        yield from _condition_problems((*at, "when"), edge, facets.get(edge.source))


def _fit_problems(at: Path, edge: Edge, facets: Mapping[str, Facet]) -> Iterator[Problem]:
    take, source, to = TAKES[edge.take], facets.get(edge.source), facets.get(edge.to)
    if source is not None and take.yields not in source.yields and not edge.optional:
        possible = [name for name, other in TAKES.items() if other.yields in source.yields]
        message = f"{edge.take!r} needs {take.yields}, but pages of {edge.source!r} carry {listed(source.yields)}"
        yield Problem((*at, "take"), message, f"possible: {listed(possible)}", code="unsupported")
    if to is not None and to.subject != take.subject:
        yield Problem(
            (*at, "to"),
            f"{edge.take!r} gives targets of kind {take.subject}, but {edge.to!r} asks about a {to.subject}",
            code="conflicting_options",
        )


def _condition_problems(at: Path, edge: Edge, source: Facet | None) -> Iterator[Problem]:
    try:
        parsed = condition.parse(edge.when)
    except ValueError as error:
        yield Problem(at, str(error))
        return
    if source is None or edge.optional:
        return
    for kind, words in (("users", condition.ABOUT_USER), ("posts", condition.ABOUT_POST)):
        asked = parsed.words & words
        if asked and kind not in source.yields:
            carried = f"pages of {edge.source!r} carry {listed(source.yields)} and no {kind}"
            yield Problem(
                at,
                f"{listed(asked)} cannot be known here: {carried}",
                "put the condition on an edge from a facet that does",
                code="unsupported",
            )


def _filter_problems(text: str) -> Iterator[Problem]:
    try:
        if text:
            condition.parse(text)
    except ValueError as error:
        yield Problem(("filters", "when"), str(error))


def _seed_problems(flow: Flow, names: list[str], facets: Mapping[str, Facet]) -> Iterator[Problem]:
    if not flow.seeds and not flow.listens:
        yield Problem(
            ("seeds",), "seeds is missing", f'say which facet seeds go to, such as seeds = ["{names[0]}"]', code="no_seeds"
        )
    for number, seed in enumerate(flow.seeds):
        if seed not in names:
            problem = f"seeds go to {seed!r}{meant(seed, names)}, which the flow does not use"
            yield Problem(("seeds", number), problem, f"it uses: {listed(names)}", code="unknown_name")
    subjects = {facets[seed].subject for seed in flow.seeds if seed in facets}
    if len(subjects) > 1:
        yield Problem(
            ("seeds",),
            f"seeds cannot be {listed(subjects)} at once",
            "name facets that ask about the same kind",
            code="conflicting_options",
        )


def _lost_facets(flow: Flow, names: list[str], rankers: Mapping[str, frozenset[str]]) -> Iterator[Problem]:
    reached = reachable(flow)
    # A walk over two lists leads from one to the other by itself.
    walks = {use.ranker for use in flow.facets if use.name in reached and "walkers" in rankers.get(use.ranker, ())}
    reached |= {use.name for use in flow.facets if use.ranker in walks}
    for name in names:
        if name not in reached:
            yield Problem(
                ("facets", name),
                f"nothing leads to {name!r}: no seeds and no edge from {listed(reached)} go there",
                code="no_seeds",
            )


def reachable(flow: Flow) -> frozenset[str]:
    """The facets that seeds, keywords and streams can lead to."""
    starts = flow.seeds if flow.keywords is None else (*flow.seeds, BACKGROUND)
    reached, open_ends = set(starts), [*starts, STREAM]
    while open_ends:
        for edge in flow.edges_from(open_ends.pop()):
            if edge.to not in reached:
                reached.add(edge.to)
                open_ends.append(edge.to)
    return frozenset(reached)


def _endless_wakes(flow: Flow) -> Iterator[Problem]:
    for number, edge in enumerate(flow.edges):
        if edge.wakes and not _is_about_change(edge) and edge.source in reachable(Flow("", (), flow.edges, (edge.to,))):
            message = "would wake tasks for ever: the edge is part of a loop and its condition does not ask for a change"
            hint = "add news, new, new_post or changed to 'when', or use 'revisit'"
            yield Problem(("edges", number, "wakes"), message, hint)


def _is_about_change(edge: Edge) -> bool:
    try:
        return bool(edge.when) and condition.parse(edge.when).is_about_change
    except ValueError:
        return True


def _sample_problems(flow: Flow, rankers: Mapping[str, frozenset[str]]) -> Iterator[Problem]:
    half = flow.stop.half_width
    if half is None:
        return
    if not 0 < half < 1:
        yield Problem(("stop", "half_width"), f"half_width is a part of one, such as 0.05, not {half:g}")
    if not any("walkers" in rankers.get(use.ranker, ()) for use in flow.facets):
        yield Problem(
            ("stop", "half_width"),
            "half_width is about samples, but no facet of the flow uses a ranker that walks",
            code="conflicting_options",
        )
    for number, name in enumerate(flow.stop.estimates):
        if name not in ESTIMATES and not name.startswith("language:"):
            allowed = f"{listed(ESTIMATES)}, or language: with a code, such as language:pt"
            yield Problem(
                ("stop", "estimates", number),
                f"unknown estimate {name!r}{meant(name, ESTIMATES)}",
                f"allowed: {allowed}",
                code="unknown_name",
            )


def _spread_problems(flow: Flow) -> Iterator[Problem]:
    stop = flow.stop
    if stop.spread and (stop.calls is None or stop.duration is None):
        problem, advice = "spread shares a number of calls out over a time", "write calls and duration under [stop] as well"
        yield Problem(("stop", "spread"), problem, advice, code="missing_value")


def _size_problems(flow: Flow) -> Iterator[Problem]:
    if not 0 < flow.weight < float("inf"):
        yield Problem(("weight",), f"weight must be above 0, not {flow.weight}")
    for table, limits in (("stop", flow.stop), ("filters", flow.filters)):
        for name in limits.__struct_fields__:
            value = getattr(limits, name)
            if isinstance(value, int) and not isinstance(value, bool) and value < (0 if name == "max_depth" else 1):
                yield Problem((table, name), f"{name} must not be {value}")
