"""A stream for tests: a provider of a few words, a service that follows a script, and a real engine around the streamer.

Its messages: `post 12`, `gone 12`, `left 7` (user 7), `by 7 12` (post 12 of user 7), `likes 7 12` (user 7 likes post 12),
`outdated`, `future`, `undelivered 9`, `closing overloaded`, `refetch 5`. Event 12 happened 12 seconds after the start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from bowerbird.clock import VIRTUAL_START, VirtualClock, from_micros, run_virtual, to_micros
from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.stream import KeyRotation, Stream, StreamKey, Tuning
from bowerbird.crawl.streaming.stream_rows import enrol_stream
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.crawl.work.bookkeeping import Bookkeeping, QueryLog
from bowerbird.crawl.work.lanes import Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.targets import Targets
from bowerbird.db import open_database
from bowerbird.flows.flow import Edge, FacetUse, Flow
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.rate_limits import RateLimits, call_charges
from bowerbird.model import (
    Answer,
    Ask,
    Backoff,
    Channel,
    Credential,
    Ended,
    Facet,
    Gone,
    Heard,
    KeyTime,
    Limit,
    Notice,
    NoticeKind,
    Opening,
    Outcome,
    Page,
    Post,
    Reaction,
    ReactionKind,
    Request,
    Retuned,
    Secret,
    Service,
    Subject,
    Subscription,
    User,
    WindowKind,
    Wire,
    origin,
)
from bowerbird.policies.registry import ranker
from bowerbird.ports import Clock, Database, Row
from bowerbird.store import Store

START = VIRTUAL_START
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
SERVICE = Service(name="bird", provider="tiny", base="https://bird.example")
PAID = Limit(bucket="{service}/posts", allowance=5, window=10 * MINUTE, kind=WindowKind.FIRST_CALL, per_call=0, per_result=1)
CONNECTS = Limit(bucket="{service}:connect", allowance=5, window=15 * MINUTE, kind=WindowKind.FIRST_CALL)
CHANGES = Limit(bucket="{service}:change", allowance=2, window=15 * MINUTE, kind=WindowKind.FIRST_CALL)
FLOW = Flow(
    name="listen",
    facets=(FacetUse("hashtag"), FacetUse("profile"), FacetUse("repo")),
    edges=(Edge("stream", "profile", take="authors"),),
)


def _channel(name: str, **fields: Any) -> Channel:
    limits = fields.pop("limits", ())
    return Channel(
        facet=Facet(name=name, subject=Subject.WORD, yields=frozenset({"posts"}), limits=limits),
        wire=Wire.WEBSOCKET,
        options={},
        lost=Backoff(timedelta(milliseconds=250), 16 * SECOND, is_linear=True),
        refused=Backoff(5 * SECOND, 320 * SECOND),
        limited=Backoff(MINUTE, 16 * MINUTE),
        **fields,
    )


class TinyListener:
    """Reads the words of this module; posts up to the cursor are dropped."""

    def __init__(self, cursor: str | None, has_cursor: bool) -> None:
        self._cursor = int(cursor or 0)
        self._has_cursor = has_cursor

    def retune(self, wanted: Subscription, rules: Sequence[str]) -> None:
        """Hears whatever is said."""

    def hear(self, messages: Sequence[bytes]) -> Heard:
        words = [message.decode().split() for message in messages]
        posts = [word for word in words if word[0] in ("post", "by") and not self._is_old(int(word[-1]))]
        subjects = {"gone": Subject.POST, "left": Subject.USER}
        gone = [Gone(subjects[word[0]], word[1], Outcome.NOT_FOUND) for word in words if word[0] in subjects]
        numbers = [int(word[-1]) for word in posts]
        newest = max(numbers, default=None)
        if newest is not None and self._has_cursor:
            self._cursor = newest
        likes = [Reaction(ReactionKind.LIKE, word[2], word[1]) for word in words if word[0] == "likes"]
        refetch = tuple(("repo", word[1]) for word in words if word[0] == "refetch")
        return Heard(
            pages=(_page(posts, gone, likes),) if posts or gone or likes else (),
            events=len(posts) + len(gone) + len(likes) + len(refetch),
            cursor=str(newest) if newest is not None and self._has_cursor else None,
            head=str(newest) if newest is not None else None,
            newest_at=START + newest * SECOND if newest is not None else None,
            notices=tuple(_notice(word) for word in words if word[0] in ("outdated", "future", "undelivered")),
            refetch=refetch,
            closing=next((Outcome(word[1]) for word in words if word[0] == "closing"), None),
        )

    def _is_old(self, number: int) -> bool:
        return self._has_cursor and number <= self._cursor


def _page(posts: Sequence[list[str]], gone: Sequence[Gone], likes: Sequence[Reaction]) -> Page:
    authors = sorted({word[1] if word[0] == "by" else "1" for word in posts})
    return Page(
        users=tuple(User(id=f"x:{author}", key=author, handle=f"u{author}") for author in authors),
        posts=tuple(
            Post(id=f"x:{word[-1]}", key=word[-1], author=f"x:{word[1] if word[0] == 'by' else 1}", text="t") for word in posts
        ),
        gone=tuple(gone),
        reactions=tuple(likes),
        results=len(posts),
    )


def _notice(word: Sequence[str]) -> Notice:
    return Notice(NoticeKind(word[0]), "in its own words", int(word[1]) if len(word) > 1 else None)


class TinyProvider:
    """Channels `ticks` (its cursor reaches back an hour), `bound` (the same, for one host), `live` (none, filled by `hashtag`),
    `timed` (the same, its keys tell time), `strict`, `careful` and `paid`."""

    name = "tiny"
    network = "x"
    facets: Mapping[str, Facet] = {
        "hashtag": Facet(name="hashtag", subject=Subject.WORD, yields=frozenset({"posts"}), is_incremental=True),
        "profile": Facet(name="profile", subject=Subject.USER, yields=frozenset({"users"}), is_lookup=True),
        "repo": Facet(name="repo", subject=Subject.USER, yields=frozenset({"posts"})),
    }
    channels: Mapping[str, Channel] = {
        "ticks": _channel("ticks", has_cursor=True, reach=timedelta(hours=1), announces="repo"),
        "bound": _channel("bound", has_cursor=True, is_bound=True),
        "live": _channel("live", fills="hashtag", silence=45 * SECOND),
        "timed": _channel("timed", fills="hashtag", key_time=KeyTime(START - timedelta(hours=1), bits=4), disorder=10 * SECOND),
        "strict": _channel("strict", limits=(CONNECTS,)),
        "careful": _channel("careful", change=(CHANGES,)),
        "paid": _channel("paid", limits=(PAID,)),
    }

    def request(self, ask: Ask) -> Request:
        return Request(path=f"/{ask.facet}")

    def sign(self, request: Request, secret: Secret) -> Request:
        return Request(path=request.path, headers={"authorization": secret.values.get("session", secret.values["token"])})

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        return Page()

    def is_paged(self, ask: Ask) -> bool:
        return False

    def target(self, text: str, facet: Facet) -> str:
        return text

    def needs_login(self, secret: Secret) -> bool:
        return "password" in secret.values

    def has_session(self, secret: Secret) -> bool:
        return "session" in secret.values

    def login(self, secret: Secret) -> Request:
        return Request(path="/login", headers={"authorization": secret.values["password"]})

    def refresh(self, secret: Secret) -> Request:
        return Request(path="/refresh", headers={"authorization": secret.values["session"]})

    def session(self, secret: Secret, answer: Answer) -> Secret | None:
        opened = {"session": answer.body.decode()}
        return Secret(name=secret.name, values=secret.values | opened) if answer.status == 200 else None

    def subscription(self, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        return Subscription(channel=channel, options={name: tuple(values) for name, values in options.items()})

    def open(self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]) -> Request | Opening | Page:
        """`careful` sends its rules first."""
        if wanted.channel == "careful" and not answers:
            return Request(path="/rules", method="POST")
        if answers and answers[-1].status != 200:
            return Page(outcome=Outcome.BAD_REQUEST, detail="rule 1 is no rule")
        query = (("cursor", cursor),) if cursor is not None else ()
        query += tuple(("words", word) for word in wanted.options.get("words", ()))
        return Opening(request=Request(path="/stream", query=query), greetings=(b"hello",))

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        outcomes = {429: Outcome.RATE_LIMITED, 401: Outcome.BAD_TOKEN, 403: Outcome.FORBIDDEN_SCOPE, 503: Outcome.OVERLOADED}
        after = answer.headers.get("retry-after")
        return Page(
            outcome=outcomes.get(answer.status, Outcome.BAD_REQUEST),
            retry_after=timedelta(seconds=int(after)) if after else None,
            detail=f"HTTP {answer.status}",
        )

    def listener(self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None) -> TinyListener:
        return TinyListener(cursor, self.channels[wanted.channel].has_cursor)

    def retune(self, before: Subscription, after: Subscription, answers: Sequence[Answer]) -> Request | Retuned | Page | None:
        """`careful` changes its rules beside the connection; the others need another one."""
        if after.channel != "careful":
            return None
        if not answers:
            return Request(path="/rules", method="PUT")
        if answers[-1].status != 200:
            return self.refused(after, answers[-1])
        return Retuned(messages=(b"other words",))

    def fill_targets(self, wanted: Subscription) -> tuple[str, ...]:
        return ("cats",)


Said = tuple[timedelta, Sequence[bytes] | Ended]
"""How long after the last word, and what: messages, or the end."""


def words(*numbers: int, after: timedelta = SECOND) -> Said:
    return after, [b"post %d" % number for number in numbers]


def said(*messages: str, after: timedelta = SECOND) -> Said:
    return after, [message.encode() for message in messages]


CUT: Said = (SECOND, Ended("the connection broke"))


class ScriptedConnection:
    """Says its lines in virtual time; when they are over it shows signs of life for ever, or nothing at all."""

    def __init__(self, clock: Clock, lines: Sequence[Said], lives_on: bool) -> None:
        self._clock = clock
        self._lines = deque(lines)
        self._lives_on = lives_on
        self._last = clock.now()
        self.heard: list[bytes] = []
        self.received = 0
        self.is_closed = False

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        if not self._lines and self._lives_on:
            self._lines.append((10 * SECOND, [b""]))
        due = self._last + self._lines[0][0] if self._lines else until + SECOND
        await self._clock.sleep_until(min(due, until))
        if due > until:
            return ()
        self._last = self._clock.now()
        self.received += 1
        return self._lines.popleft()[1]

    async def send(self, message: bytes) -> None:
        self.heard.append(message)

    async def close(self) -> None:
        self.is_closed = True


class ScriptedTransport:
    """Answers each connection and each request with the next entry of its script; at the end of it every connection is quiet."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.script: deque[Sequence[Said] | int | dict[str, str]] = deque()
        """Lines to say, an HTTP status (0: no answer), or headers of a 429."""
        self.answers: deque[tuple[int, bytes]] = deque()
        self.connections: list[ScriptedConnection] = []
        self.requests: list[Request] = []
        self.connected_at: list[datetime] = []
        self.lives_on = True

    async def send(self, service: Service, request: Request) -> Answer:
        self.requests.append(request)
        status, body = self.answers.popleft() if self.answers else (200, b"")
        return self._answer(status, body=body)

    async def connect(self, service: Service, request: Request, wire: Wire) -> ScriptedConnection | Answer:
        self.requests.append(request)
        self.connected_at.append(self._clock.now())
        await self._clock.sleep_until(self._clock.now() + timedelta(milliseconds=50))
        entry = self.script.popleft() if self.script else ()
        if isinstance(entry, int):
            return self._answer(entry)
        if isinstance(entry, dict):
            return self._answer(429, headers=entry)
        self.connections.append(ScriptedConnection(self._clock, entry, self.lives_on))
        return self.connections[-1]

    async def close(self) -> None:
        """Nothing is held open."""

    def _answer(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> Answer:
        now = self._clock.now()
        return Answer(
            status=status, headers=headers or {}, body=body, sent_at=now, received_at=now, failure="" if status else "down"
        )


class TinyVault:
    def __init__(self) -> None:
        self.kept: dict[str, Secret] = {}

    def credentials(self) -> Sequence[Credential]:
        return [Credential(name=name, provider=SERVICE.provider, servers=(origin(SERVICE.base),)) for name in self.kept]

    def secret(self, name: str) -> Secret:
        return self.kept[name]

    def keep(self, secret: Secret) -> None:
        self.kept[secret.name] = secret


class Scene:
    """A crawl that listens to one stream; more workers may come."""

    def __init__(self, clock: Clock, database: Database) -> None:
        self.clock = clock
        self.database = database
        self.transport = ScriptedTransport(clock)
        self.vault = TinyVault()
        self.hearing: Hearing
        self.scheduler: Scheduler
        self.tally: Tally
        self.worker = 0

    async def streamer(
        self,
        channel: str = "ticks",
        *credentials: str | None,
        store: Store | None = None,
        host: Service = SERVICE,
        words: tuple[str, ...] = (),
    ) -> Streamer:
        """A streamer of a new worker of the same crawl."""
        provider, wanted = TinyProvider(), Subscription(channel=channel, options={"words": words} if words else {})
        async with self.database.transaction() as tx:
            crawl = (await registry.enrol_crawl(tx, "crawl", "{}", "{}", self.clock.now())).crawl
            service = await registry.enrol_service(tx, SERVICE, "x")
            worker = self.worker = await registry.enrol_worker(tx, "crawl", self.clock.now())
            numbers = {use.name: await registry.enrol_lane(tx, crawl, service, use.name) for use in FLOW.facets}
            number = await enrol_stream(tx, crawl, service, wanted)
            lane = await registry.enrol_lane(tx, crawl, service, channel)
        seeder = FlowSeeder(FLOW, numbers)
        facet = provider.channels[channel].facet
        change = structs.replace(facet, limits=provider.channels[channel].change)
        charges, changes = (tuple(call_charges(each, SERVICE.name, None)) for each in (facet, change))
        lanes = {numbers[use.name]: _lane(numbers[use.name], provider, use.name, seeder) for use in FLOW.facets}
        self.hearing = self._hearing(crawl, ServedLanes(lanes), store or Store(self.database))
        async with self.database.transaction() as tx:
            await self.hearing.books.ledgers.load(tx)
        stream = Stream(
            stream=number,
            crawl=crawl,
            me=lambda: worker,
            lane=lane,
            tuning=Tuning(wanted),
            service=SERVICE,
            host=host,
            provider=provider,
            seeder=seeder,
            keys=KeyRotation([StreamKey(each, charges, changes) for each in credentials or (None,)]),
        )
        return Streamer(self.hearing, stream)

    def _hearing(self, crawl: int, lanes: ServedLanes, store: Store) -> Hearing:
        ledgers, worker = RateLimits(pace=False), self.worker
        self.tally, self.scheduler = Tally(self.clock.now()), Scheduler(ledgers)
        frontier = TaskFrontier(self.database, lambda: worker, lease=3 * MINUTE, call=MINUTE)
        books = Bookkeeping(
            crawl=crawl,
            database=self.database,
            clock=self.clock,
            frontier=frontier,
            ledgers=ledgers,
            log=QueryLog(crawl, lambda: worker),
        )
        signer = Signer(self.vault, self.transport, self.clock)
        return Hearing(books, store, Targets(frontier, lanes, self.scheduler), signer, self.tally)

    @staticmethod
    def channels() -> Mapping[str, Channel]:
        return TinyProvider.channels

    async def move_away(self) -> None:
        """The last worker runs on another machine, and lives."""
        async with self.database.transaction() as tx:
            host, seen_at = f"host{self.worker}.example", to_micros(START + timedelta(days=1))
            await tx.execute("update workers set host = ?, seen_at = ? where worker = ?", host, seen_at, self.worker)

    async def wait(self, how_long: timedelta) -> None:
        await self.clock.sleep_until(self.clock.now() + how_long)

    async def rows(self, sql: str, *values: Any) -> Sequence[Row]:
        async with self.database.reading() as tx:
            return await tx.fetch(sql, *values)

    async def row(self, sql: str, *values: Any) -> Row:
        (row,) = await self.rows(sql, *values)
        return row

    async def posts(self) -> list[int]:
        """Numbers of the posts stored and not deleted."""
        return sorted(int(row["id"][2:]) for row in await self.rows("select id from posts where deleted_at is null"))

    async def stream(self) -> Row:
        return await self.row("select * from streams")

    async def held_until(self) -> datetime:
        """When the claim to the stream runs out."""
        return from_micros((await self.row("select until from claims"))["until"])

    async def gaps(self) -> list[tuple[Any, ...]]:
        rows = await self.rows("select * from gaps order by gap")
        return [(row["cause"], row["after_key"], row["before_key"]) for row in rows]


def _lane(number: int, provider: TinyProvider, facet: str, seeder: FlowSeeder) -> Lane:
    return Lane(
        lane=number,
        service=SERVICE,
        provider=provider,
        facet=provider.facets[facet],
        ranker=ranker("fifo", {}, None),
        seeder=seeder,
    )


def play(work: Callable[[Scene], Awaitable[Any]], where: str = ":memory:") -> Any:
    """Runs `work` in virtual time on a database of its own."""

    async def main(clock: VirtualClock) -> Any:
        database = await open_database(where, clock)
        await database.create_tables()
        try:
            return await work(Scene(clock, database))
        finally:
            await database.close()

    return run_virtual(main)
