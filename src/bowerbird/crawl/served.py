"""A crawl as one of its servers can serve it: without the facets and streams that the server does not offer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Generic, TypeVar

from bowerbird.crawl.files.stream_plans import StreamPlan
from bowerbird.crawl.flow import Flow
from bowerbird.crawl.supervisor import Part
from bowerbird.model import Flavour, Service
from bowerbird.ports import FlavouredProvider, Provider

P = TypeVar("P", bound=Provider)


class Served(Generic[P]):
    """What one server takes of a crawl. What it does not take is added to `notes` in sentences for the user."""

    def __init__(self, plain: P, service: Service, flavour: Flavour | None, notes: list[str]) -> None:
        """`plain`: the provider as the network has it; `flavour`: None on networks whose servers are all alike."""
        self._plain = plain
        self._service = service
        self.flavour = flavour
        self._notes = notes

    @property
    def provider(self) -> P:
        """The provider with the facets that the server offers."""
        speaks = self._plain
        return speaks.flavoured(self.flavour) if self.flavour and isinstance(speaks, FlavouredProvider) else speaks

    def flow(self, flow: Flow, kinds: Collection[str]) -> Flow:
        """The flow without what the server lacks; `kinds`: of the credentials it is asked with."""
        speaks, flow = self._plain, flow.among(self._plain.facets)
        if self.flavour is None or not isinstance(speaks, FlavouredProvider):
            return flow
        used = {use.name for use in flow.facets}
        lacking = {name: why for name, why in speaks.lacks(self.flavour).items() if name in used}
        name = self._service.name
        self._notes += [
            f"{name} cannot be asked for {facet}: {why}. The crawl goes on there without." for facet, why in lacking.items()
        ]
        self._notes += [f"{name}: {caution}." for caution in speaks.cautions(self.flavour, used - lacking.keys(), kinds)]
        return flow.without(lacking.keys())

    def streams(self, planned: Sequence[StreamPlan], mute: list[Part]) -> list[StreamPlan]:
        """The streams that can bring anything; any other becomes a part that has failed, in case the crawl has nothing else."""
        speaks = self._plain
        if self.flavour is None or not isinstance(speaks, FlavouredProvider):
            return list(planned)
        mutes = speaks.mutes(self.flavour)
        mute += [self._mute(each, mutes[each.subscription.channel]) for each in planned if each.subscription.channel in mutes]
        return [each for each in planned if each.subscription.channel not in mutes]

    def _mute(self, planned: StreamPlan, why: str) -> Part:
        name = planned.subscription.name or planned.subscription.channel
        words = f"the stream {name} of {self._service.name} cannot be heard: {why}"
        self._notes.append(f"{words[0].upper()}{words[1:]}.")
        return Part(name=f"{self._service.name}/{name}", run=_nothing, failure=partial(str, words))


async def _nothing() -> None:
    """What a part does that has nothing to do."""
