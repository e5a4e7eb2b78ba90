"""The streams of a service: what is heard there, and with whose credentials."""

from __future__ import annotations

from msgspec import structs

from bowerbird.crawl.access.credentials import stream_credentials
from bowerbird.crawl.access.needed import channel_of, listening
from bowerbird.crawl.access.served import Served
from bowerbird.crawl.life import registry
from bowerbird.crawl.streaming.stream import KeyRotation, Stream, StreamKey, Tuning
from bowerbird.crawl.streaming.stream_rows import enrol_stream
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.keywords.rows import rank_spellings, read_methods
from bowerbird.keywords.setup import is_filtered, subscription_for
from bowerbird.model import Channel, Credential, Service
from bowerbird.ports import Transaction
from bowerbird.providers import provider
from bowerbird.starting.asking.charges import paid
from bowerbird.starting.asking.views import ServiceView
from bowerbird.starting.gathered import Gathered, Given


async def stream_of(tx: Transaction, given: Given, gathered: Gathered, view: ServiceView, planned: StreamPlan) -> Stream:
    # Signatures are made over the address that is asked, and streams may have another than the rest.
    plain = provider(planned.service.provider, now=given.now, base=planned.host.base)
    speaks = Served(plain, view.service, view.served.flavour, []).provider
    service, wanted = planned.service, structs.replace(planned.subscription, owner=given.plan.owner)
    is_tuned = is_filtered(speaks, planned, given.event)
    if is_tuned:
        wanted = subscription_for(speaks, wanted, rank_spellings(await read_methods(tx, given.crawl)))
    number = await registry.enrol_service(tx, service, speaks.network)
    channel = channel_of(planned, speaks)
    able = stream_credentials(planned, channel, given.plan.services, given.stream_vault) or (None,)
    stream = await enrol_stream(tx, given.crawl, number, wanted)
    if is_tuned:
        gathered.tuned[stream] = speaks
    return Stream(
        stream=stream,
        crawl=given.crawl,
        me=given.me.number,
        lane=await registry.enrol_lane(tx, given.crawl, number, f"stream {wanted.name}"),
        tuning=Tuning(wanted),
        service=service,
        host=planned.host,
        provider=listening(speaks),
        seeder=view.seeder,
        keys=KeyRotation([_key(channel, service, each, given.plan) for each in able]),
        sieve=None if given.event is None else given.event.stream_filter(is_filtered=is_tuned),
    )


def _key(channel: Channel, service: Service, credential: Credential | None, plan: CrawlPlan) -> StreamKey:
    """What opening a stream as somebody takes, and what changing it then does."""
    change = structs.replace(channel.facet, limits=channel.change)
    charges, changes = (paid(facet, service, credential, plan) for facet in (channel.facet, change))
    return StreamKey(credential.name if credential else None, charges, changes)
