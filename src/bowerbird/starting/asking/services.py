"""The services of a plan, one after the other, as lanes and streams."""

from __future__ import annotations

from bowerbird.crawl.life.rebuilding import queues_of
from bowerbird.flows.files.crawl_file import ServicePlan
from bowerbird.flows.flow import STREAM
from bowerbird.ports import Transaction
from bowerbird.starting.asking.lanes import add_lane, add_probes, waiting_lane
from bowerbird.starting.asking.streams import stream_of
from bowerbird.starting.asking.views import view_of
from bowerbird.starting.gathered import Gathered, Given
from bowerbird.store.posts.listed import is_source


async def add_service(tx: Transaction, given: Given, gathered: Gathered, planned: ServicePlan) -> None:
    """Adds the lanes and streams of one service."""
    view = await view_of(tx, given, gathered, planned)
    for use in view.uses:
        add_lane(given, gathered, view, use)
    lost = gathered.lost[view.service.name]
    for use in (use for use in view.kept.facets if use.name in lost):
        gathered.waiting[view.numbers[use.name]] = waiting_lane(given, view, use, lost[use.name])
    for each in view.streams:
        gathered.streams.append(await stream_of(tx, given, gathered, view, each))
    add_probes(given, gathered, view)
    sources = {view.numbers[use.name]: use.name for use in view.kept.facets if is_source(view.plain.facets[use.name])}
    heard = {each.lane: STREAM for each in gathered.streams if each.service.name == view.service.name}
    gathered.queues.extend(queues_of(view.kept, view.service, view.seeder, view.numbers, sources | heard))
