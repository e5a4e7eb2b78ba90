"""A crawl as one of its servers can serve it: without the facets and streams that the server does not offer, or not to us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from bowerbird.crawl.access.credentials import Asking
from bowerbird.crawl.access.how_to_add import wanting
from bowerbird.errors import Failure
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.flow import Flow
from bowerbird.model import ServerInfo, Service
from bowerbird.ports import Part
from bowerbird.providers.base import Provider

NOT_OFFERED = "not_offered"
INCOMPLETE = "incomplete"
P = TypeVar("P", bound=Provider)


class Note(Struct, frozen=True):
    """What a service does not do for a crawl, for the user to know."""

    service: str
    failure: Failure

    def __str__(self) -> str:
        return f"{self.service}: {self.failure}"


class Served(Generic[P]):
    """What one server takes of a crawl. What it does not take is added to `notes` for the user."""

    def __init__(self, plain: P, service: Service, flavour: ServerInfo | None, notes: list[Note]) -> None:
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

    def lost(self, flow: Flow, asking: Asking) -> dict[str, Failure]:
        """The facets of the flow that would be asked in vain, each with the reason: the server does not have them, or
        not for whom the crawl asks as."""
        flow = flow.among(self._plain.facets)
        lacking = self._lacks()
        found = {use.name: Failure(NOT_OFFERED, lacking[use.name]) for use in flow.facets if use.name in lacking}
        speaks = self.provider
        for use in flow.facets:
            takers = tuple(kind for kind, table in speaks.tables.items() if use.name in table)
            if use.name not in found and takers and not any(use.name in speaks.facets_for(kind) for kind in asking.kinds(use)):
                found[use.name] = wanting(self._service, takers, asking.taken)
        return found

    def note(self, flow: Flow, lost: Mapping[str, Failure]) -> Flow:
        """The flow without these facets, with a note for each, and for what brings less than one might expect."""
        flow = flow.among(self._plain.facets).without(lost.keys())
        for facet, why in lost.items():
            self._add(why.within(f"cannot be asked for {facet}: {why.problem}. It is left out there"))
        if self.flavour is not None:
            used = {use.name for use in flow.facets}
            for caution in self._plain.warnings(self.flavour, used):
                self._add(Failure(INCOMPLETE, f"{caution}."))
        return flow

    def _add(self, failure: Failure) -> None:
        self._notes.append(Note(self._service.name, failure))

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
        self._add(Failure(NOT_OFFERED, f"the stream {name} cannot be heard: {why}."))
        failure = Failure(NOT_OFFERED, f"the stream {name} of {self._service.name} cannot be heard: {why}")
        return Part(name=f"{self._service.name}/{name}", run=_nothing, failure=lambda: failure)


async def _nothing() -> None:
    """What a part does that has nothing to do."""
