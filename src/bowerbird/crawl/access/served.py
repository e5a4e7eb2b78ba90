"""A crawl as one of its servers can serve it: without the facets and streams that the server does not offer, or not to us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar

from bowerbird.crawl.access.credentials import Asking
from bowerbird.crawl.access.how_to_add import wanting
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.flow import Flow
from bowerbird.model import ServerInfo, Service
from bowerbird.ports import Part
from bowerbird.providers.base import Provider

P = TypeVar("P", bound=Provider)


class Served(Generic[P]):
    """What one server takes of a crawl. What it does not take is added to `notes` in sentences for the user."""

    def __init__(self, plain: P, service: Service, flavour: ServerInfo | None, notes: list[str]) -> None:
        """`plain`: the provider as the network has it; `flavour`: None on networks whose servers are all alike."""
        self._plain = plain
        self._service = service
        self.flavour = flavour
        self._notes = notes

    @property
    def provider(self) -> P:
        """The provider with the facets that the server offers."""
        speaks = self._plain
        return speaks.for_server(self.flavour) if self.flavour else speaks

    def lost(self, flow: Flow, asking: Asking) -> dict[str, str]:
        """The facets of the flow that would be asked in vain, each with the reason in words: the server does not have them, or
        not for whom the crawl asks as."""
        flow = flow.among(self._plain.facets)
        lacking = self._lacks()
        found = {use.name: lacking[use.name] for use in flow.facets if use.name in lacking}
        speaks = self.provider
        for use in flow.facets:
            takers = tuple(kind for kind, table in speaks.tables.items() if use.name in table)
            if use.name not in found and takers and not any(use.name in speaks.facets_for(kind) for kind in asking.kinds(use)):
                found[use.name] = wanting(self._service, takers, asking.taken)
        return found

    def note(self, flow: Flow, lost: Mapping[str, str]) -> Flow:
        """The flow without these facets, with a sentence for each, and for what brings less than one might expect."""
        name, flow = self._service.name, flow.among(self._plain.facets).without(lost.keys())
        self._notes += [_without(name, facet, *_parted(why)) for facet, why in lost.items()]
        if self.flavour is not None:
            used = {use.name for use in flow.facets}
            self._notes += [f"{name}: {caution}." for caution in self._plain.warnings(self.flavour, used)]
        return flow

    def _lacks(self) -> Mapping[str, str]:
        speaks = self._plain
        return speaks.missing_facets(self.flavour) if self.flavour is not None else {}

    def streams(self, planned: Sequence[StreamPlan], mute: list[Part]) -> list[StreamPlan]:
        """The streams that can bring anything; any other becomes a part that has failed, in case the crawl has nothing else."""
        speaks = self._plain
        if self.flavour is None:
            return list(planned)
        mutes = speaks.missing_channels(self.flavour)
        mute += [self._mute(each, mutes[each.subscription.channel]) for each in planned if each.subscription.channel in mutes]
        return [each for each in planned if each.subscription.channel not in mutes]

    def _mute(self, planned: StreamPlan, why: str) -> Part:
        name = planned.subscription.name or planned.subscription.channel
        words = f"the stream {name} of {self._service.name} cannot be heard: {why}"
        self._notes.append(f"{words[0].upper()}{words[1:]}.")
        return Part(name=f"{self._service.name}/{name}", run=_nothing, failure=partial(str, words))


def _parted(why: str) -> tuple[str, str]:
    """The reason, and what to do about it, if anything can be done."""
    reason, _, advice = why.partition("; ")
    return reason, advice


def _without(service: str, facet: str, why: str, advice: str) -> str:
    left = f"{service} cannot be asked for {facet}: {why}. It is left out there"
    return f"{left}; {advice}." if advice else f"{left}."


async def _nothing() -> None:
    """What a part does that has nothing to do."""
