"""`rwrw`, `frontier`, `mhrw`: rankers that walk. Who is next is a neighbour of who was asked, drawn by lot.

A walk uses one list (`followers`, `following`, `mutuals`) or two: then a node is asked for both in turn and its neighbours are
those of both. Steps through nodes whose neighbours are known cost no call. Where a walker cannot go on (the account is closed, or
asked to be left alone) it stays, and that counts as a step: otherwise those with many closed neighbours would be met too seldom.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import log
from random import Random

from msgspec import Struct, structs

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.policies.graph_walks.starts import Start
from bowerbird.policies.graph_walks.walking import (
    STAYS,
    WITNESSES,
    Listed,
    Node,
    Walker,
    joined,
    listed,
    message_in,
    node_in,
    sent,
)
from bowerbird.policies.moments import lot, seconds

_MOST_HOPS = 50


class Ways(Struct, frozen=True):
    """What a walk goes along."""

    lanes: tuple[int, ...] = ()
    """Whose lists make up the neighbours, in the order in which they are asked."""
    is_one_sided: bool = False
    """The one list shows out-links only (or in-links only): see `Rwrw._after_page`."""
    shows_neighbours: bool = False
    """Profiles of neighbours can be had without a call for each."""
    lookup: int | None = None
    """The lane that looks them up, where they do not come with the lists."""


_NOWHERE = Ways()


class Rwrw:
    """Independent random walkers; whoever has many neighbours is met more often and counts less in the estimate."""

    name = "rwrw"
    remembers = True
    walkers = 20

    def __init__(self, ways: Ways = _NOWHERE, start: Start | None = None, *, jump: int = 0, seed: int = 0) -> None:
        """`jump`: how many neighbours a jump to any of the seeds is worth."""
        self._ways = ways
        self._lanes = ways.lanes
        self._start = start or Start(self.walkers)
        self._jump = jump
        self._seed = seed
        self._is_directed = ways.is_one_sided
        self._has_witnesses = ways.shows_neighbours and not jump and not ways.is_one_sided

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        if not self._is_first(arrival.lane):
            return Placement(0.0, now)
        node = node_in(known.memory if known else None)
        message = message_in(arrival.memory) if arrival.memory is not None else None
        if isinstance(message, Listed):
            return self._joined(node, message, arrival, now)
        node.waiting += [message] if message else self._start.walkers_at(arrival.target) if known is None else []
        if node.is_settled:
            return self._go_on(node, arrival.target, arrival.lane, now)
        return self._waits(node, now)

    def continued(self, visit: Visit) -> bytes | None:
        return self._after_page(visit).encoded()

    def visited(self, visit: Visit) -> Placement:
        node, target, lane = self._after_page(visit), visit.task.target, visit.task.lane
        if not self._is_first(lane):
            back = sent(Listed(node.seen, tuple(node.picks)))
            return Placement(0.0, None, Node().encoded(), leads=(Arrival(lane=self._lanes[0], target=target, memory=back),))
        if visit.outcome.is_about_target:
            return self._dead_end(node, lane)
        if len(self._lanes) > 1:
            node.is_elsewhere = True
            return self._waits(node, visit.at, (Arrival(lane=self._lanes[1], target=target),))
        if not (self._is_directed and node.since):
            node.degree = node.seen
        node.listed, node.seen = node.listing, 0
        return self._met(node, target, lane, visit.at)

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        return (Draw(room),)

    def counts(self, walker: Walker, node: Node) -> bool:
        """Whether the walker takes the node it has come to, as against going back."""
        return True

    def clock_after(self, walker: Walker, node: Node) -> float:
        """The walker's own time when it leaves the node."""
        return walker.clock + 1.0

    def _joined(self, node: Node, other: Listed, arrival: Arrival, now: datetime) -> Placement:
        """Both lists of the node are known. A second list that nobody asked for says nothing: the first is not at hand."""
        if not node.is_elsewhere:
            return self._waits(node, now)
        joined(node, other, self._chance(arrival.target, node, "joined"))
        return self._met(node, arrival.target, arrival.lane, now)

    def _met(self, node: Node, target: str, lane: int, now: datetime) -> Placement:
        """The node's listing has ended. A call was made for it: its walkers may pass through known ones again."""
        is_first = not node.since
        node.is_elsewhere = False
        node.since = node.since or int(seconds(now) * 1e6)
        node.waiting = [structs.replace(walker, hops=0) for walker in node.waiting]
        if is_first and self._has_witnesses:
            node.witnesses, node.picks = node.picks[:WITNESSES], node.picks[WITNESSES:]
        placement = self._go_on(node, target, lane, now)
        lookup = self._ways.lookup
        if lookup is None or not is_first:
            return placement
        shown = [Arrival(lane=lookup, target=key, wakes=False) for key in node.witnesses if key != STAYS]
        return structs.replace(placement, leads=(*placement.leads, *shown))

    def _go_on(self, node: Node, target: str, lane: int, now: datetime) -> Placement:
        """Every walker here takes its step, as long as drawn neighbours are left."""
        if node.degree < 0 or not (node.degree or self._jump):
            return self._dead_end(node, lane)
        waiting, node.waiting = node.waiting, []
        leads = []
        for walker in waiting:
            if not walker.is_back and walker.origin and not self.counts(walker, node):
                leads.append(_back(walker, lane))
            elif walker.hops >= _MOST_HOPS or not (node.picks or self._jumps(walker, node)):
                node.waiting.append(walker)
            else:
                leads.append(self._step(walker, node, target, lane))
        return self._waits(node, now, tuple(leads))

    def _step(self, walker: Walker, node: Node, target: str, lane: int) -> Arrival:
        node.trace.append((walker.number, walker.clock))
        clock = self.clock_after(walker, node)
        onward = Walker(walker.number, walker.step + 1, clock, target, node.degree, hops=walker.hops + 1)
        to = self._start.anywhere(walker) if self._jumps(walker, node) else node.picks.pop()
        return Arrival(lane=lane, target=to, memory=sent(onward)) if to != STAYS else _back(onward, lane)

    def _jumps(self, walker: Walker, node: Node) -> bool:
        """Whether the walker goes on from any of the seeds, as if each node had so many neighbours more."""
        here = lot(self._seed, "jump", walker.number, walker.step) if self._jump else 1.0
        return here * (self._jump + node.degree) < self._jump

    def _waits(self, node: Node, now: datetime, leads: tuple[Arrival, ...] = ()) -> Placement:
        """The node is asked for its lists if walkers wait there, unless they wait for its second one."""
        earliest = min((walker.clock for walker in node.waiting), default=0.0)
        due = now if node.waiting and not node.is_elsewhere else None
        return Placement(-earliest, due, node.encoded(), moves=True, leads=leads)

    def _dead_end(self, node: Node, lane: int) -> Placement:
        """Nobody to go on to: the walkers go back, those that came from nowhere end here."""
        leads = tuple(_back(walker, lane) for walker in node.waiting if walker.origin)
        node.waiting, node.picks, node.seen, node.degree = [], [], 0, -1
        return Placement(0.0, None, node.encoded(), moves=True, leads=leads)

    def _after_page(self, visit: Visit) -> Node:
        """The node with what a page shows.

        Where in-links are hidden, the graph that is walked grows as it is seen: a node has the out-links to those that were not
        known when it was, and the links from those that were. So degrees never change once they were used, and every link can
        be walked both ways."""
        node = node_in(visit.task.memory)
        if not visit.task.pages:
            node.seen = node.listing = 0
            node.is_elsewhere = False
        others = _neighbours(visit)
        node.listing += len(others)
        if self._is_directed:
            others = [key for key in others if not _is_older(visit.around.get(key), node)]
            others += [key for key in visit.linked_by if _is_older(visit.around.get(key), node)]
        chance = self._chance(visit.task.target, node, visit.task.visits, visit.task.pages)
        node.picks = listed(node.picks, node.seen, others, chance)
        node.seen += len(others)
        return node

    def _is_first(self, lane: int) -> bool:
        return len(self._lanes) < 2 or lane == self._lanes[0]

    def _chance(self, target: str, node: Node, *parts: object) -> Random:
        return Random(lot(self._seed, target, len(node.trace), *parts))  # noqa: S311  a walk, no secret


class FrontierSampling(Rwrw):
    """Walkers that wait as long as a node has few neighbours: in a graph of several pieces each gets its due share.

    Choosing the walker to move in proportion to its degree is the same as letting each wait an exponential time with that rate,
    so the walkers need not know of each other."""

    name = "frontier"

    def clock_after(self, walker: Walker, node: Node) -> float:
        wait = -log(1 - lot(self._seed, "wait", walker.number, walker.step))
        return walker.clock + wait / (self._jump + node.degree)


class Mhrw(Rwrw):
    """Metropolis and Hastings: a neighbour with more neighbours is refused in proportion, so that all nodes count alike."""

    name = "mhrw"
    walkers = 1

    def counts(self, walker: Walker, node: Node) -> bool:
        return lot(self._seed, "accept", walker.number, walker.step, walker.clock) * node.degree < walker.degree


def _back(walker: Walker, lane: int) -> Arrival:
    home = structs.replace(walker, origin="", degree=0, is_back=True)
    return Arrival(lane=lane, target=walker.origin, memory=sent(home))


def _neighbours(visit: Visit) -> list[str]:
    target = visit.task.target
    ends = (each.target if each.source == target else each.source for each in visit.relations)
    return [STAYS if key in visit.left_alone else key for key in ends if key != target]


def _is_older(memory: bytes | None, node: Node) -> bool:
    """Whether that neighbour was listed before the node was."""
    other = node_in(memory).since
    return other > 0 and (not node.since or other < node.since)
