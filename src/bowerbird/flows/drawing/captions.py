"""What a drawing says about each facet, edge and limit, in words."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.flows.flow import STREAM, WALKS, Edge, FacetUse, Flow, wakes
from bowerbird.flows.language.spelling import spell
from bowerbird.model import Facet
from bowerbird.model.money import in_dollars, thousandths


def facet_lines(use: FacetUse, facet: Facet | None = None) -> list[str]:
    """Who is next, how often again, and what bounds it."""
    if use.name == STREAM:
        return ["what is heard, as it comes"]
    options = ", ".join(f"{name} {value}" for name, value in use.options.items())
    lines = [use.ranker + (f" ({options})" if options else "")]
    if use.revisit is not None:
        lines.append(f"↻ again after {spell(use.revisit)}")
    elif use.ranker == "circular":
        lines.append("↻ again when all had their turn")
    elif use.ranker in WALKS:
        lines.append("↻ walks on by itself")
    if facet is not None and facet.objects_per_call > 1:
        lines.append(f"up to {facet.objects_per_call} per call")
    if use.max_pages is not None:
        lines.append(f"at most {use.max_pages} pages per visit")
    if use.large_share is not None:
        lines.append(f"{use.large_share:.0%} for long lists")
    if use.unless_paid:
        lines.append("off where it costs money")
    if use.optional:
        lines.append("where the network has it")
    if use.weight != 1:
        lines.append(f"weight {use.weight:g}")
    if use.credentials:
        lines.append(f"as {', '.join(use.credentials)}")
    return lines + [f"{name} = {value}" for name, value in use.hints.items()]


def edge_words(edge: Edge) -> str:
    when = f" when {edge.when}" if edge.when else ""
    return (
        f"{edge.take}{when}" + (" (wakes)" if wakes(edge) else "") + (" (where listed)" if edge.optional else "") + _instead(edge)
    )


def foot_lines(flow: Flow) -> list[str]:
    """Limits, filters and the end of the crawl, as sentences."""
    lines = [f"ends: {', or '.join(_ends(flow))}"]
    lines += ["spreads its calls over its time"] if flow.stop.spread else []
    limits = [f"{name.replace('_', ' ')} {value:,}" for name, value in _limits(flow).items() if value is not None]
    lines += [f"limits: {', '.join(limits)}"] if limits else []
    filters = flow.filters
    only = [f"languages {', '.join(filters.languages)}"] if filters.languages else []
    only += [f"posts with {' or '.join(filters.keywords)}"] if filters.keywords else []
    only += [f"whatever is {filters.when}"] if filters.when else []
    lines += [f"follows only: {'; '.join(only)}"] if only else []
    lines += [f"modules: {', '.join(each.name for each in flow.modules)}"] if flow.modules else []
    if filters.follow_opted_out:
        lines.append("follows accounts that opted out too")
    return lines


def _limits(flow: Flow) -> Mapping[str, int | None]:
    return {name: getattr(flow.filters, name) for name in ("max_depth", "max_users", "max_followers", "max_following")}


def _ends(flow: Flow) -> list[str]:
    stop = flow.stop
    ends = [f"after {getattr(stop, name):,} {name}" for name in ("calls", "items", "users", "posts") if getattr(stop, name)]
    ends += [f"when {in_dollars(thousandths(stop.dollars))} are spent"] if stop.dollars else []
    ends += [f"after {spell(stop.duration)}"] if stop.duration else []
    if stop.half_width is not None:
        verb = "is" if len(stop.estimates) == 1 else "are"
        ends.append(f"when {', '.join(stop.estimates)} {verb} known within {stop.half_width:.3g}")
    if stop.when_empty and not flow.goes_round and not flow.listens:
        ends.append("when nothing is left to ask")
    return ends or ["when it is stopped"]


def _instead(edge: Edge) -> str:
    return " (where lists are left out because they cost)" if edge.instead else ""
