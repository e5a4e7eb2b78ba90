"""The event half of a crawl put together: what is followed, who decides, and what is steered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bowerbird.app.engine import Engine
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.crawl.work.lanes import Lane
from bowerbird.event.deciding import Decider
from bowerbird.event.part import Adapter
from bowerbird.event.probing import Prober, most_probes
from bowerbird.event.steering import Steering, Tuned, most_heard, polled_services
from bowerbird.ports import Part
from bowerbird.starting.enrolling import Enrolled
from bowerbird.starting.gathered import Gathered


def event_parts(who: Enrolled, streamers: Sequence[Streamer], engine: Engine, keeping: Keeping) -> list[Part]:
    """The part that decides frames, in a crawl whose seeds are keywords."""
    event, gathered = who.event, who.gathered
    if event is None:
        return []
    tuned = [
        Tuned(streamer, gathered.tuned[stream.stream])
        for stream, streamer in zip(gathered.streams, streamers, strict=True)
        if stream.stream in gathered.tuned
    ]
    probed = [gathered.lanes[each.lane].facet for each in gathered.probes.values()]
    steering = Steering(
        crawl=event.crawl,
        database=event.database,
        frontier=engine.books.frontier,
        targets=engine.targets,
        tuned=tuned,
        polled=polled_services(_searched(gathered), event.by_target),
        prober=Prober(event.crawl, gathered.probes, most_probes(event.use, probed)),
        cap=most_heard(event.use, tuned),
    )
    decider = Decider(event.methods, event.settings, steering)
    return [Adapter(decider, steering, event.grid, keeping).part()]


def _searched(gathered: Gathered) -> Iterator[Lane]:
    """The lanes of services that are not heard, but for those of probes."""
    heard = {stream.service.name for stream in gathered.streams}
    probes = {each.lane for each in gathered.probes.values()}
    return (lane for lane in gathered.lanes.values() if lane.service.name not in heard and lane.lane not in probes)
