"""Gaps that REST can fill: an ordinary task lists what the stream missed, from the last key heard."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bowerbird.crawl.streaming.gaps import WaitingGap, give_to_task, has_listed, is_listing, split_gaps, waiting_gaps
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.model import Arrival, Progress
from bowerbird.ports import Database, Transaction


class Filler:
    """Wakes the task that fills the gaps of one stream, where the network and the flow have the facet for it."""

    def __init__(self, database: Database, targets: Targets, stream: Stream, lane: Lane | None) -> None:
        """`lane`: of the channel's `fills` facet; None when the flow does not have it."""
        self._database = database
        self._targets = targets
        self._stream = stream
        self._lane = lane

    async def arrange(self, tx: Transaction, call: int | None, now: datetime) -> None:
        """Gives every gap that waits for one a listing that begins after it.

        A listing under way may have begun before the gap ended: the gap then waits, and this is asked again.
        """
        lane = self._lane
        targets = self._stream.provider.fill_targets(self._stream.wanted) if lane is not None else ()
        if lane is None or not targets:
            return
        gaps = await waiting_gaps(tx, self._stream.stream)
        if not gaps:
            return
        for target in targets:
            if await is_listing(tx, self._database, lane.lane, target):
                return
        # What takes several searches is as many gaps: each is filled when its own search has ended.
        shares = await split_gaps(tx, gaps, len(targets))
        for target, share in zip(targets, shares, strict=True):
            await self._ask(tx, lane, target, share, call, now)

    async def _ask(
        self, tx: Transaction, lane: Lane, target: str, gaps: Sequence[WaitingGap], call: int | None, now: datetime
    ) -> None:
        # A search that is polled anyway has its own place, and what it lists tells what search alone would find.
        is_at_it = lane.is_polled and await has_listed(tx, lane.lane, target)
        newest = None if is_at_it else gaps[0].after_key
        arrival = Arrival(
            lane=lane.lane,
            target=target,
            newest=newest,
            is_paged=lane.is_paged(target, Progress(newest=newest)),
        )
        await self._targets.add(tx, [arrival], call, now)
        await give_to_task(tx, gaps, lane.lane, target, now)
