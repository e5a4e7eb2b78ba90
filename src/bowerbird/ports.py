"""Every seam of bowerbird on one page: who asks what of whom.

One call passes them in this order (docs/architecture.md numbers the steps):
`RateLimits` say when, the `Ranker` says who, the `Frontier` leases, the `Provider` (`providers/base.py`) builds the request,
the `Transport` carries it, the `Provider` reads the answer, the `Store` saves the page, the `Seeder` names new targets, and one
`Transaction` settles it all.
"""

from __future__ import annotations

from asyncio import Event
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from bowerbird.errors import Failure
from bowerbird.model import (
    Answer,
    Arrival,
    CallReport,
    Claim,
    CrawlState,
    Credential,
    Draw,
    Due,
    Ended,
    Facet,
    Fetched,
    Later,
    Lease,
    Leased,
    Loss,
    Nothing,
    Offer,
    Page,
    Placement,
    Reason,
    Recalled,
    Request,
    Ruling,
    Saved,
    Secret,
    Seen,
    Service,
    Setback,
    Settled,
    Subject,
    Subscription,
    Task,
    Turn,
    Visit,
    Wire,
)
from bowerbird.model.modules import Counts, ModuleOption

Row = Mapping[str, Any]


class Clock(Protocol):
    """The only source of time; in virtual time it jumps to the next deadline when everything waits."""

    is_virtual: bool

    def now(self) -> datetime: ...

    def stopwatch(self) -> float:
        """Seconds of real time since an arbitrary point, for measuring our own work."""
        ...

    def drift(self) -> timedelta:
        """How far the system's clock has been set away from this one, which never jumps."""
        ...

    def heed(self, told: datetime, sent: datetime, received: datetime) -> None:
        """Sets this clock by another one, which showed `told` at some moment between `sent` and `received`. The first call sets
        it at once; later calls correct only as much as clocks drift."""
        ...

    def correction(self) -> timedelta:
        """How far this clock was moved from the machine's own to go by the one that it heeds."""
        ...

    async def sleep_until(self, when: datetime) -> None: ...

    async def wait(self, event: Event, until: datetime) -> None:
        """Returns when the event is set or the time has come, whichever is first."""
        ...

    def outside(self) -> AbstractContextManager[None]:
        """Marks work that takes real time (a database server): virtual time stands still meanwhile."""
        ...


class Transaction(Protocol):
    """All or nothing. SQL is written once with `?`; the database knows its own spelling."""

    async def execute(self, sql: str, *values: Any) -> int:
        """Runs one statement and says how many rows it touched."""
        ...

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None: ...

    async def execute_all(
        self, writes: Sequence[tuple[str, Sequence[Sequence[Any]] | None]]
    ) -> None:
        """Runs several writes over many rows each: inserts of values, or updates by one condition. None may depend on another, or
        change the same row. A distant server gets them together, before the next statement that might see them. Rows that are
        None leave a statement out; empty ones do not, so that the server sees the same text every time and plans it once."""
        ...

    async def fetch_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> Sequence[Row]:
        """Runs one such statement over many rows, and gives what it returns."""
        ...

    async def fetch(self, sql: str, *values: Any) -> Sequence[Row]: ...

    async def fetch_all(
        self, questions: Sequence[tuple[str, Sequence[Any]]]
    ) -> Sequence[Sequence[Row]]:
        """What several questions find, in their order; a distant server is asked all of them at once, about one moment. They name
        the tables they read, not views of them."""
        ...

    async def fetch_one(self, sql: str, *values: Any) -> Row | None: ...

    async def fetch_columns(self, sql: str, *values: Any) -> Sequence[Sequence[Any]]:
        """What is found by columns, for those who read very much; texts may come as bytes of UTF-8. No columns: nothing found."""
        ...

    def after_commit(self, then: Callable[[], object]) -> None:
        """Calls `then` once everything is committed, before the caller goes on; never when the transaction failed."""
        ...

    def on_rollback(self, undo: Callable[[], object]) -> None:
        """Calls `undo` if nothing of the transaction happened, the last one first: whoever changes memory before the commit
        takes it back in this way, so that the same work may be tried again."""
        ...


class Database(Protocol):
    """Connections and transactions, and nothing about crawling."""

    dialect: str
    """`sqlite` or `postgresql`."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """One writer's transaction; raises `Busy` or `DiskFull` and then leaves nothing behind."""
        ...

    def reading(self) -> AbstractAsyncContextManager[Transaction]:
        """One moment for those who only read, from the first look to the last: what they write is refused. It never blocks the
        writer; a database in memory alone has one connection for all, and who writes waits until the look is over."""
        ...

    async def time(self) -> datetime | None:
        """The time that all machines which share the database go by; None where there is only one, with its own."""
        ...

    def any(self, kind: str) -> str:
        """Right-hand side of `column …` that is true for each member of one list parameter (`text` or `bigint`)."""
        ...

    def members(self, values: Sequence[Any]) -> Any:
        """The list parameter in the form that `any` expects."""
        ...

    async def create_tables(self) -> None: ...

    async def close(self) -> None: ...


class Retunable(Protocol):
    """A stream whose subscription can be changed while it is heard, by any worker of its crawl."""

    @property
    def wanted(self) -> Subscription:
        """What it hears now, as far as this worker knows."""
        ...

    async def retune(self, wanted: Subscription, reason: Reason) -> bool:
        """Has the stream hear something else on the same channel, from a moment on that `changes` will tell; False when it is
        to hear that already. Nothing is missed meanwhile where the network allows it; where not, there is a gap. Raises
        `UserError` for what the network would refuse."""
        ...


class Judge(Protocol):
    """Says of the accounts and posts of a page what they are: where, in which language, whether they belong. Pure."""

    name: str
    """What conditions call it: `judged('place', 'Lisbon')`."""
    version: str
    """Changes with its rules. What a newer version says replaces an older judgement of equal strength."""

    def judge(self, seen: Seen) -> Ruling: ...


class Transport(Protocol):
    """Carries one request to one service and brings back whatever comes, bounded in size and time."""

    async def send(self, service: Service, request: Request) -> Answer: ...

    async def close(self) -> None: ...


class Connection(Protocol):
    """One live connection. Memory is bounded: who does not receive makes the service wait."""

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        """The messages that have come, at least one unless the time is over; `b""` is a sign of life without content."""
        ...

    async def send(self, message: bytes) -> None: ...

    async def close(self) -> None: ...


@runtime_checkable
class StreamTransport(Transport, Protocol):
    """A transport that can also hold a connection open."""

    async def connect(self, service: Service, request: Request, wire: Wire) -> Connection | Answer:
        """An open connection, or the answer that came instead (`status` 0: none did)."""
        ...


class Vault(Protocol):
    """Holds credentials; gives a secret only to the one who signs a request."""

    def credentials(self) -> Sequence[Credential]: ...

    def secret(self, name: str) -> Secret: ...

    def keep(self, secret: Secret) -> None:
        """Keeps the session that was opened with the secret of a known credential, unless that has another secret by now."""
        ...


class Ranker(Protocol):
    """Decides who is next. Pure: values in, values out."""

    name: str
    remembers: bool
    """Whether this ranker reads the task that a target already has. If not, it is not looked up."""

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        """Where a target starts, or where a known one goes when an edge wakes it."""
        ...

    def continued(self, visit: Visit) -> bytes | None:
        """What the task remembers after a page in the middle of a listing."""
        ...

    def visited(self, visit: Visit) -> Placement:
        """Where a task goes after a completed visit."""
        ...

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        """How the next choice of `room` tasks is made up."""
        ...


class Seeder(Protocol):
    """Reads a settled page and names the targets it adds. Pure."""

    def seed(
        self, facet: str, tasks: Sequence[Task], page: Page, saved: Saved
    ) -> Sequence[Arrival]: ...


class Sieve(Protocol):
    """Chooses what is saved of pages, and notes what they told, in the transaction that saves them."""

    async def sift(
        self, tx: Transaction, tasks: Sequence[Task], page: Page, service: Service, now: datetime
    ) -> Page:
        """What of the page is to be saved; `tasks`: what was asked, none where a stream spoke by itself."""
        ...

    async def note(
        self, tx: Transaction, tasks: Sequence[Task], page: Page, saved: Saved, now: datetime
    ) -> None:
        """Takes note of what was saved."""
        ...


class Frontier(Protocol):
    """The durable set of tasks, leased in lane order; a bounded part is held in memory, the rest in the database."""

    async def add(
        self,
        tx: Transaction,
        arrivals: Sequence[tuple[Arrival, Placement]],
        call: int | None,
        now: datetime,
    ) -> frozenset[int]:
        """Adds unknown targets and wakes sleeping ones; answers the lanes that have ready tasks because of it."""
        ...

    async def take_turn(self, tx: Transaction) -> None:
        """Locks what tasks remember until the transaction ends. Call it before `known`."""
        ...

    async def known(
        self, tx: Transaction, arrivals: Sequence[Arrival]
    ) -> Mapping[tuple[int, str], Task]:
        """The tasks that exist already, for rankers that remember."""
        ...

    async def lease(
        self, tx: Transaction, turn: Turn, draws: Sequence[Draw], now: datetime
    ) -> Sequence[Task]: ...

    async def settle(
        self, tx: Transaction, settled: Sequence[Settled], now: datetime
    ) -> frozenset[int]:
        """Ends leases; raises `Fenced` unless every task still carries the token it was leased with."""
        ...

    async def set_back(self, tx: Transaction, setbacks: Sequence[Setback]) -> None:
        """Ends the leases of a call that our own code could not settle; what is no longer ours is left alone."""
        ...

    async def give_back(self, tx: Transaction, tasks: Sequence[Task], due: datetime) -> None:
        """Returns leased tasks unasked; they are ready again at `due`."""
        ...

    async def sweep(self, tx: Transaction, now: datetime) -> frozenset[int]:
        """Makes ready what has come due, revisits and expired leases alike; answers their lanes."""
        ...

    async def next_due(self, tx: Transaction, lanes: Sequence[int]) -> datetime | None:
        """When the next sleeping or leased task of these lanes comes due."""
        ...

    async def ready_in(self, tx: Transaction, lanes: Sequence[int]) -> frozenset[int]:
        """Those of the lanes in which something is ready, whoever made it so."""
        ...

    async def close(self, tx: Transaction, lane: int, why: Failure) -> None:
        """Gives up what waits in a lane, with the reason: nobody answers its questions."""
        ...

    async def retire(
        self, tx: Transaction, lane: int, targets: Sequence[str], reason: Reason, now: datetime
    ) -> Sequence[str]:
        """Takes targets out of a lane for good, in whatever state, and records who wanted it and why. Answers which of them were
        in it. A target that is being asked is retired when its call ends, and the answer is kept. It is asked again only when it
        is added anew: by an edge, or by an arrival that wakes. That a start names it as a seed does not bring it back."""
        ...

    async def revive(self, tx: Transaction, lanes: Sequence[int], now: datetime) -> int:
        """Makes ready again what was given up in these lanes: a new start is a new chance."""
        ...

    async def expire(self, tx: Transaction, leased_at: datetime, now: datetime) -> None:
        """Ends the leases that this worker took at that time; `sweep` makes their tasks ready."""
        ...

    async def recover(self, tx: Transaction, now: datetime) -> int:
        """Makes ready what workers hold that have ended; says how many tasks that were."""
        ...

    async def release(self, tx: Transaction, now: datetime) -> None:
        """Gives back everything held in memory: the last act of an orderly stop."""
        ...

    def let_go(self) -> None:
        """Forgets everything held in memory: it is no longer ours."""
        ...


class Claims(Protocol):
    """What this worker alone may do, each thing until a time: hold a stream, fetch a file, take a backup, run a module."""

    async def take(
        self, tx: Transaction, name: str, until: datetime, now: datetime
    ) -> Claim | datetime:
        """The claim, in one statement: it is given when nobody has it, when its time is over, when its worker is dead, and to the
        worker that has it already. Otherwise the time until which another one has it. The dead are given nothing."""
        ...

    async def renew(self, tx: Transaction, claim: Claim, until: datetime) -> Claim:
        """The same claim with a later end; raises `Fenced` when another worker has it. Whoever writes under a claim renews it
        first, in the same transaction: then nobody else can take it before the end of that."""
        ...

    async def release(self, tx: Transaction, claim: Claim) -> bool:
        """Lets others take it at once; False when it was no longer ours."""
        ...

    async def held(self, tx: Transaction, prefix: str, now: datetime) -> frozenset[str]:
        """The names, among those that begin like this, which living workers have, ourselves included."""
        ...


class Store(Protocol):
    """Users, posts and relations with their history; one page in the transaction it is given."""

    def clean(self, page: Page) -> Page:
        """The page with nothing in it that a database refuses. Only such pages are saved, and seeded from."""
        ...

    async def allowed(self, tx: Transaction, page: Page, service: Service) -> Page:
        """The page without those who were forgotten on request. Only such are saved, and seeded from, in this transaction."""
        ...

    async def allowed_targets(
        self, tx: Transaction, service: Service, targets: Collection[str]
    ) -> frozenset[str]:
        """Those of the targets that are not, and do not name, somebody who was forgotten."""
        ...

    async def save(
        self,
        tx: Transaction,
        page: Page,
        *,
        service: Service,
        tasks: Sequence[Task],
        facet: Facet,
        call: int,
        now: datetime,
    ) -> Saved: ...

    async def hear(
        self,
        tx: Transaction,
        page: Page,
        *,
        service: Service,
        facet: Facet,
        call: int,
        now: datetime,
    ) -> Saved:
        """Saves what a stream said just now. A post that was deleted stays deleted: on a stream, a deletion may come first."""
        ...

    async def save_alone(self, tx: Transaction) -> None:
        """Lets nobody else save until the transaction ends: for those who save several pages in it, before the first."""
        ...


class Links(Protocol):
    """Who leads to an account among the targets of one lane, as far as their listings showed."""

    async def to(self, tx: Transaction, lane: int, target: str) -> Sequence[str]: ...


class Neighbourhood(Protocol):
    """How likely targets belong to the crawl's community, by the judged accounts around each, as far as they are stored."""

    async def scores(self, tx: Transaction, targets: Sequence[str]) -> Mapping[str, float]: ...


class Recall(Protocol):
    """Tells again what searches and streams listed, for lanes that lack its authors."""

    async def recall(
        self,
        tx: Transaction,
        service: Service,
        sources: Sequence[int],
        queues: Sequence[int],
        after: int,
    ) -> Recalled | None:
        """The next sightings after number `after` that a queue may lack; None when there are no more."""
        ...


class WorkSource(Protocol):
    """Hands out calls and takes in what came of them. Everything that passes is a plain value, and secrets never do: a worker may
    be in the same process or on another machine."""

    async def lease(self, offer: Offer) -> Leased | Later | Nothing:
        """The next calls for a worker, charged and logged, at most as many as it has room for; or when to ask again; or nothing
        is ready. Raises `Fenced` when others have taken the worker for dead."""
        ...

    async def settle(
        self, lease: Lease, answer: Answer, *, has_expired: bool = False
    ) -> CallReport:
        """Ends a call with its answer, all or nothing; raises `Fenced` when the lease is no longer the worker's.

        `has_expired`: it was signed with a session that may have run out, so that a refusal is no word against the credential."""
        ...

    async def give_back(self, lease: Lease, until: datetime) -> None:
        """Returns a call that could not be made: its credential may log in again at that time, others may ask before."""
        ...

    async def drop(self, lease: Lease, loss: Loss) -> int:
        """Ends a call without an answer, once; says how many of its tasks are given up by that."""
        ...

    async def wake(self) -> Due:
        """Makes ready what has come due; says when to look again."""
        ...


class MediaTransport(Protocol):
    """Fetches pictures and films from wherever a network keeps them: only from public addresses, bounded in size and time."""

    async def fetch(self, url: str, most: int, take: Callable[[bytes], object]) -> Fetched:
        """Gives the content to `take` piece by piece, at most so many bytes; whatever goes wrong is part of the answer."""
        ...

    async def close(self) -> None: ...


class Part(Struct, frozen=True, kw_only=True):
    """Something that runs in a process as long as its loop of calls does: a stream, backups, downloads. All it has to tell the
    process is here; what it leaves out does not apply to it."""

    name: str
    run: Callable[[], Awaitable[None]]
    """Returns when the part has come to its own end; whatever it raises is a crash."""
    prepare: Callable[[], Awaitable[None]] | None = None
    """What must be done before the first call."""
    end: Callable[[], None] | None = None
    """Asks for an orderly end; a part without one is simply cancelled."""
    finish: Callable[[], None] | None = None
    """Tells the part that there will be no more calls: it does what is left to do and returns."""
    pause: Callable[[bool], None] | None = None
    """Holds the part, or lets it go on; a part without one goes on during a pause of the crawl."""
    is_alive_since: Callable[[], datetime] | None = None
    """When the part last showed a sign of life, for those that must never be silent for long."""
    silence: timedelta = timedelta(minutes=10)
    failure: Callable[[], Failure | None] | None = None
    """At the end: what it never managed to do; None when all is well."""
    feeds: Callable[[], bool] | None = None
    """Whether it may still add targets: the crawl does not end before."""
    listens: Callable[[], bool] | None = None
    """Whether it may still bring anything of itself: a crawl that has nothing left to ask goes on for it."""
    is_refused: Callable[[], bool] | None = None
    """Whether it can do nothing before a human has changed something, and never could."""
    ended: Callable[[CrawlState, str], Awaitable[None]] | None = None
    """Told how the crawl ends and why, once everything else is done."""


class Questions(Protocol):
    """How a module has the crawl ask something: accounts and posts become targets of its facets. Nothing is called by that."""

    @property
    def facets(self) -> frozenset[str]:
        """Those that the crawl asks somewhere."""
        ...

    async def about_users(
        self,
        tx: Transaction,
        facet: str,
        users: Sequence[int],
        *,
        again: bool = False,
        most: int | None = None,
    ) -> int:
        """Has a facet asked about accounts, by number, wherever the crawl can ask about them; answers how many that are. Who is
        known to it already is asked once more only `again`. `most`: only so many, the first of those not known to it yet."""
        ...

    async def about_posts(
        self, tx: Transaction, facet: str, posts: Sequence[int], *, again: bool = False
    ) -> int:
        """The same of posts."""
        ...


class Keys(Protocol):
    """What services call the accounts and posts of a store."""

    async def of(
        self,
        tx: Transaction,
        subject: Subject,
        service: Service,
        network: str,
        numbers: Collection[int],
    ) -> Mapping[int, str]:
        """By number the keys of those that the service knows and that may be asked about."""
        ...


class Stored(Protocol):
    """What modules may do to what is stored, by its own rules."""

    async def erase_posts(
        self, tx: Transaction, posts: Sequence[int], reason: str, now: datetime
    ) -> int:
        """Empties posts for good, as if their authors had deleted them; answers how many."""
        ...

    async def judge_posts(
        self, tx: Transaction, judge: Judge, posts: Sequence[int], now: datetime
    ) -> int:
        """Asks a judge about stored posts, and keeps what it says; answers how many judgements that were."""
        ...

    async def judge_users(
        self, tx: Transaction, judge: Judge, users: Sequence[int], now: datetime
    ) -> int:
        """The same about stored profiles."""
        ...


class Messenger(Protocol):
    """Tells somebody outside what happened. Whatever goes wrong raises `OSError` with words for a person."""

    async def run(self, command: Sequence[str], message: str) -> None:
        """Runs a program with the message on its standard input."""
        ...

    async def post(self, url: str, values: Mapping[str, Any]) -> None:
        """Sends JSON to a web address; `vault:NAME` is one that the vault keeps."""
        ...

    async def mail(self, server: str, to: Sequence[str], subject: str, message: str) -> None:
        """Sends a mail through a server; `vault:NAME` is one that the vault keeps, with its password."""
        ...


class ModuleContext(Protocol):
    """What a module works with during one run."""

    crawl: int
    crawl_name: str
    database: Database
    """To read from; who writes, writes in `transaction`."""
    clock: Clock
    options: Mapping[str, Any]
    """All options of the module, with the values that hold."""
    memory: dict[str, Any]
    """What the module remembers from run to run, as JSON; changes are kept with the next `transaction`."""
    questions: Questions
    stored: Stored
    judge: Callable[[str], Judge | None]
    """The judge of a name, where this crawl can have it."""
    knows_place: Callable[[str], bool]
    """Whether a text is the name of a place that is known already."""
    messenger: Messenger | None
    """None where nobody may be told: in rehearsals."""

    def found(self, count: int) -> None:
        """Says that so much more waits for other modules: a crawl that has nothing left to ask waits until they have looked."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A small piece of work and what the module remembers then, all or nothing; raises `Fenced` when another worker has
        taken the module over."""
        ...


class Module(Protocol):
    """A periodic job. Each run does a bounded amount of work in small transactions and remembers where to go on.

    More may be there: `finds = True`, where it may lead to more questions though it asks none itself; `hears_end = True`, where
    it runs once more when the crawl ends, with state and reason as `ended` in its memory; `tells = True`, where it needs the
    messenger, so that only processes run it that have one."""

    name: str
    about: str
    """In one sentence what it does."""
    every: timedelta
    """How often it runs unless the crawl file says otherwise."""
    options: Mapping[str, ModuleOption]
    needs: tuple[str, ...]
    """Facets that it asks: the flow must have one of them. Empty: it asks nothing."""

    async def run(self, context: ModuleContext) -> Counts:
        """Does what is due and says what it did, in numbers by name."""
        ...
