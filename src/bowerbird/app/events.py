"""Builds the loop that decides frames, in a crawl whose seeds are keywords."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.app.engine import Engine
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.flows.keywords import BACKGROUND
from bowerbird.keywords.decide import KeywordLoop
from bowerbird.keywords.probes import probes_per_frame
from bowerbird.keywords.steering import Steering, searches_of
from bowerbird.ports import Part
from bowerbird.starting.enrolling import Enrolled


def event_parts(who: Enrolled, streamers: Sequence[Streamer], engine: Engine, keeping: Keeping) -> list[Part]:
    """Return the loop as a part of the process; none if the seeds are ordinary targets."""
    event, gathered = who.event, who.gathered
    if event is None:
        return []
    streams = [
        (streamer, gathered.tuned[stream.stream])
        for stream, streamer in zip(gathered.streams, streamers, strict=True)
        if stream.stream in gathered.tuned
    ]
    streamed = {stream.service.name for stream in gathered.streams}
    probes = {lane for searches in gathered.probes for lane in searches.lanes.values()}
    searched = [lane for lane in gathered.lanes.values() if lane.service.name not in streamed and lane.lane not in probes]
    steering = Steering(
        event=event,
        targets=engine.targets,
        streams=streams,
        searches=searches_of(searched),
        timelines=[lane.lane for lane in searched if lane.facet.name == BACKGROUND],
        probes=gathered.probes,
        most_probes=probes_per_frame(event.use, [gathered.lanes[lane].facet for lane in probes]),
    )
    return [KeywordLoop(steering, keeping).part()]
