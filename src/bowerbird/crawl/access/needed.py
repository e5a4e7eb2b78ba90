"""The facets that a crawl needs besides those of its flow: to fill what its streams miss, and to search for its places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bowerbird.errors import UserError
from bowerbird.flows.files.sections.place_plans import SearchPlan
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.flow import FacetUse, Flow
from bowerbird.model import Channel, Service
from bowerbird.providers.base import Provider


def channel_of(planned: StreamPlan, speaks: Provider) -> Channel:
    return listening(speaks).channels[planned.subscription.channel]


def listening(speaks: Provider) -> Provider:
    if not speaks.channels:
        raise UserError(f"{speaks.name} has no streams", "take [[streams]] out of the crawl file", code="unsupported")
    return speaks


def filling(streams: Sequence[StreamPlan], speaks: Provider, flow: Flow) -> Iterator[FacetUse]:
    """The facets that fill what streams miss or only announce, where the flow does not ask them anyway."""
    used = {use.name for use in flow.facets}
    wanted = dict.fromkeys(name for each in streams for name in _missed(each, channel_of(each, speaks)))
    return (FacetUse(name) for name in wanted if name in speaks.facets and name not in used)


def _missed(planned: StreamPlan, channel: Channel) -> tuple[str, ...]:
    # Only the host that streams repositories also gives them away: an AppView beside it has none.
    is_own = planned.host.base == planned.service.base
    return (channel.fills, channel.announces) if is_own else (channel.fills,)


def searching(searches: Sequence[SearchPlan], service: Service, flow: Flow) -> dict[str, FacetUse]:
    """The facets that search for the crawl's places, where the flow does not ask them anyway."""
    used = {use.name for use in flow.facets}
    own = [each for each in searches if each.service == service.name and each.facet not in used]
    return {each.facet: FacetUse(each.facet, revisit=each.every, hints=each.hints) for each in own}
