"""One crawl and the workers at its door: who they are, which credentials they bring, what is wanted of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.errors import Fenced, UserError
from bowerbird.limits.vault import NAME
from bowerbird.model import Credential, Due
from bowerbird.ports import Clock
from bowerbird.remote.coordinator import Coordinator, Opened
from bowerbird.remote.roster import Roster
from bowerbird.remote.wire import Beat, Endings, Enrol, Enrolled, Get, Login, Orders, Put, PutError, Work

_MOST_CREDENTIALS = 1000
_MOST_KNOWN = 10_000
_MOST_BROUGHT, _SPAN = 6, timedelta(hours=1)
"""How often a worker may bring new credentials within such a time."""
_LONGEST_WORD = 200
_HIGHEST_PID = 2**31
"""Numbers of processes are below, wherever there are processes."""


class Desk:
    """Everything that a worker may ask of a coordinator, once it is known who asks."""

    def __init__(self, roster: Roster, clock: Clock, contact: str = "") -> None:
        self._roster = roster
        self._clock = clock
        self._contact = contact
        self._opened: Opened | None = None
        self._labels: dict[int, str] = {}
        """By number, the workers that were enrolled here."""
        self._holds: dict[int, frozenset[str]] = {}
        """By number, the credentials that a worker came with: for others it gets no call."""
        self._brought: dict[str, list[datetime]] = {}
        """By name of a worker, when it brought credentials that were new."""
        self.coordinator = Coordinator(clock)
        self.credentials: dict[str, Credential] = {}
        """All that workers have offered, and those of the coordinator itself where it makes calls too."""
        self.has_new = asyncio.Event()
        """Somebody offered a credential that the crawl was not opened with."""
        self.over = ""
        """Why all workers are to stop; empty: they are not."""

    @property
    def workers(self) -> dict[int, str]:
        return dict(self._labels)

    def open(self, opened: Opened) -> None:
        self._opened = opened
        self.coordinator.open(opened)

    def close(self) -> None:
        self._opened = None
        self.coordinator.close()

    def admit(self, worker: int, label: str, credentials: Iterable[str] = ()) -> None:
        """This number belongs to the worker of this name, which holds these credentials."""
        self._labels[worker] = label
        self._holds[worker] = frozenset(credentials)

    async def enrol(self, label: str, asked: Enrol) -> Enrolled:
        _check_process(asked)
        self._check_credentials(label, asked.credentials)
        self._check_new(label, asked.credentials)
        opened = self._opened
        worker = await self._roster.enrol(label, asked, opened.worker if opened is not None else 0)
        self.admit(worker, label, (each.name for each in asked.credentials))
        if new := [each for each in asked.credentials if each.name not in self.credentials]:
            self._brought.setdefault(label, []).append(self._clock.now())
            self.credentials |= {each.name: each for each in new}
            self.has_new.set()
        orders = self._told((await self._roster.orders([label]))[label])
        self.coordinator.orders[worker] = orders
        return Enrolled(worker=worker, crawl=self._roster.crawl, contact=self._contact, orders=orders)

    def _check_new(self, label: str, offered: Sequence[Credential]) -> None:
        """Each new name makes all workers wait while the crawl is opened anew: nobody brings some again and again."""
        new, now = sum(each.name not in self.credentials for each in offered), self._clock.now()
        brought = self._brought[label] = [at for at in self._brought.get(label, []) if now - at < _SPAN]
        if new and len(brought) >= _MOST_BROUGHT:
            raise UserError(
                f"the worker {label} brought new credentials {len(brought)} times within an hour, and each time all waited",
                f"bring them all at once, after {brought[0] + _SPAN:%H:%M} UTC",
                code="too_many",
            )
        if new and len(self.credentials) + new > _MOST_KNOWN:
            raise UserError(
                f"this coordinator knows {len(self.credentials):,} credentials, and takes {_MOST_KNOWN:,} in all", code="too_many"
            )

    def _check_credentials(self, label: str, offered: Sequence[Credential]) -> None:
        if len(offered) > _MOST_CREDENTIALS:
            raise UserError(
                f"a worker may offer {_MOST_CREDENTIALS:,} credentials", "choose some with --credential NAME", code="too_many"
            )
        for each in offered:
            if not NAME.fullmatch(each.name):
                raise UserError(f"{each.name[:_LONGEST_WORD]!r} cannot name a credential: limits are kept by its name")
            known = self.credentials.get(each.name)
            if known is not None and known != each:
                raise UserError(
                    f"the worker {label} offers a credential called {each.name!r}, which is another one than that of this name "
                    "which is in use already; limits are kept by name",
                    "give one of them another name",
                    code="already_exists",
                )

    async def get(self, label: str, asked: Get) -> Work:
        self._check(label, asked.offer.worker)
        held = asked.offer.credentials & self._holds.get(asked.offer.worker, frozenset())
        return await self.coordinator.get(structs.replace(asked, offer=structs.replace(asked.offer, credentials=held)))

    async def put(self, label: str, sent: Put) -> Endings:
        self._check(label, sent.worker)
        return await self.coordinator.put(sent)

    async def put_error(self, label: str, sent: PutError) -> Endings:
        self._check(label, sent.worker)
        return await self.coordinator.put_error(sent)

    async def heartbeat(self, label: str, sent: Beat) -> Orders:
        self._check(label, sent.worker)
        if not await self._roster.beat(sent.worker):
            self._forget(sent.worker)
            raise _gone(sent.worker)
        return self._told(self.coordinator.orders.get(sent.worker, Orders()))

    async def login(self, label: str, asked: Login) -> Due:
        self._check(label, asked.worker)
        if asked.credential not in self._holds.get(asked.worker, frozenset()):
            raise UserError(
                f"the worker {label} did not come with the credential {asked.credential[:_LONGEST_WORD]!r}",
                code="unknown_credential",
            )
        return await self.coordinator.login(asked)

    async def wake(self, label: str) -> Due:
        return await self.coordinator.wake()

    async def leave(self, label: str, sent: Beat) -> Orders:
        """The worker has ended in order."""
        if self._labels.get(sent.worker) == label:
            await self._roster.leave([sent.worker])
            self._forget(sent.worker)
        return Orders(stop="left")

    async def look(self) -> None:
        """Reads what is wanted of everybody, and hands on what the dead held; every second or so."""
        wanted = await self._roster.orders(set(self._labels.values()))
        self.coordinator.orders = {worker: self._told(wanted[label]) for worker, label in self._labels.items()}
        await self.coordinator.look(self._roster.living)

    async def dismiss(self) -> None:
        """Nobody of ours works on the crawl any more."""
        if self._labels:
            await self._roster.leave(list(self._labels))

    def _told(self, orders: Orders) -> Orders:
        facets = self._opened.facets if self._opened is not None else frozenset[str]()
        return structs.replace(orders, facets=facets, stop=self.over or orders.stop)

    def _forget(self, worker: int) -> None:
        self._labels.pop(worker, None)
        self._holds.pop(worker, None)

    def _check(self, label: str, worker: int) -> None:
        if self._labels.get(worker) != label:
            raise _gone(worker)


def _check_process(asked: Enrol) -> None:
    """Raises `UserError` for what no process is: every process of the crawl looks at these rows to see who lives."""
    process = asked.process
    words = (process.identity, process.host, process.place, asked.version)
    numbers_are_right = 0 < process.pid < _HIGHEST_PID and 0 <= (process.started or 0) < 2**63
    if not numbers_are_right or any(len(word) > _LONGEST_WORD or not word.isprintable() for word in words):
        raise UserError("this is no process of bowerbird: its number, host or version cannot be", code="invalid_process")


def _gone(worker: int) -> Fenced:
    return Fenced(f"worker {worker} is not known here, or was taken for dead", "enrol anew")
