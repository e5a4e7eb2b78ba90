"""What a walk over the social graph keeps in the database: nodes, walkers between them, and the trace. Pure.

Every node that was reached is a task. Its memory holds its degree, some of its neighbours drawn at random while its lists were at
hand, the walkers that wait there for a list, and which walker counted it when: all nodes together are the trace of the walk, so a
killed crawl goes on where it stood. A walker on its way is the message of an arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import msgspec
from msgspec import Struct

WITNESSES = 8
"""Neighbours of each node that are only looked at: where a walk is at rest, a neighbour drawn by lot is as good as the next step,
and to look at it costs a hundredth of a call."""
PICKS = 32
"""Neighbours drawn per listing. Each step uses one up, so that every step is a fresh draw; then the node is asked again."""
STAYS = ""
"""Drawn instead of a neighbour that is not to be asked about: the walker stays where it is."""


class Walker(Struct, frozen=True, array_like=True, tag="walker"):
    """One walk on its way to a node: where it last counted, and that node's degree."""

    number: int
    step: int = 0
    clock: float = 0.0
    origin: str = ""
    degree: int = 0
    is_back: bool = False
    """It returns to where it came from: the node it wanted was refused, or was not to be had."""
    hops: int = 0
    """Steps since the last call: bounded, so that one settle stays short."""


class Listed(Struct, frozen=True, array_like=True, tag="listed"):
    """What the other list of a node showed, on its way to the lane where the walkers wait."""

    seen: int
    picks: tuple[str, ...]


class Node(Struct, array_like=True):
    """One node of the graph as far as the walk knows it."""

    degree: int = 0
    """How many neighbours; -1: a dead end."""
    seen: int = 0
    """Neighbours in the listing under way."""
    picks: list[str] = []
    """Neighbours drawn; `STAYS` for one that is not to be asked about."""
    waiting: list[Walker] = []
    trace: list[tuple[int, float]] = []
    """Which walker counted this node, and when by its own clock."""
    since: int = 0
    """When its listing first ended, in microseconds; 0: not yet."""
    listed: int = 0
    """How long its own lists are. The degree differs where in-links are hidden: it holds those that the walk came to know."""
    is_elsewhere: bool = False
    """Its second list is being asked for."""
    witnesses: list[str] = []
    listing: int = 0
    """How long the list under way is so far."""

    @property
    def is_settled(self) -> bool:
        """Whether its neighbours, or that it has none, are known, so that walkers need not wait."""
        return (self.since > 0 or self.degree < 0) and not self.seen and not self.is_elsewhere

    def encoded(self) -> bytes:
        return _ENCODER.encode(self)


class Step(NamedTuple):
    """One counted visit of a walk."""

    walker: int
    clock: float
    node: str
    degree: int


class Trodden(NamedTuple):
    """An account that a walk came to: its degree (-1: a dead end), how long its lists are, and the steps that met it.

    An account that closed after it was met has no steps: it is none of those the sample is about, and nobody knows its weight."""

    node: str
    degree: int
    listed: int
    steps: tuple[Step, ...]
    witnesses: tuple[str, ...]
    pending: tuple[float, ...]
    """Clocks of the walkers that wait there for its lists."""


_ENCODER = msgspec.msgpack.Encoder()
_NODES = msgspec.msgpack.Decoder(Node)
_MESSAGES = msgspec.msgpack.Decoder(Walker | Listed)


def node_in(memory: bytes | None) -> Node:
    return Node() if memory is None else _NODES.decode(memory)


def message_in(memory: bytes) -> Walker | Listed:
    message: Walker | Listed = _MESSAGES.decode(memory)
    return message


def sent(message: Walker | Listed) -> bytes:
    return _ENCODER.encode(message)


def steps_in(target: str, memory: bytes | None) -> list[Step]:
    """The steps that one task of a sampling lane remembers."""
    return list(trodden(target, memory).steps)


def trodden(target: str, memory: bytes | None) -> Trodden:
    """What one task of a sampling lane says about its account."""
    node = node_in(memory)
    trace = node.trace if node.degree >= 0 else ()
    steps = tuple(Step(walker, clock, target, node.degree) for walker, clock in trace)
    pending = tuple(walker.clock for walker in node.waiting)
    return Trodden(target, node.degree, node.listed, steps, tuple(node.witnesses), pending)


def listed(picks: Sequence[str], seen: int, neighbours: Sequence[str], chance: Random) -> list[str]:
    """Independent uniform draws over everything listed so far, after one more page: each is replaced in proportion."""
    if not neighbours:
        return list(picks)
    if not seen:
        return chance.choices(neighbours, k=WITNESSES + PICKS)
    share = len(neighbours) / (seen + len(neighbours))
    return [chance.choice(neighbours) if chance.random() < share else pick for pick in picks]


def joined(node: Node, other: Listed, chance: Random) -> None:
    """Puts two lists of a node together: a mutual relation is two ways, and counts twice in the degree."""
    total = node.seen + other.seen
    node.degree = node.listed = total
    if total:
        own, others = iter(node.picks), iter(other.picks)
        count = WITNESSES + PICKS
        node.picks = [next(others) if chance.random() * total < other.seen else next(own) for _ in range(count)]
    node.seen = 0
