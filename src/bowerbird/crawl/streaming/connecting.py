"""From a subscription to an open connection: what must be sent first, signed, then the connection itself."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.model import Answer, Opening, Outcome, Page, Request, Retuned, Subscription, Wire
from bowerbird.ports import Clock, Connection, StreamTransport

_MOST_STEPS = 20
_REDIRECTS = range(300, 400)


class Line(Struct, frozen=True):
    """An open connection, how it was opened, and an answer that says when."""

    connection: Connection
    opening: Opening
    answer: Answer


class Refusal(Struct, frozen=True):
    """The answer that came instead of a connection, understood."""

    page: Page
    answer: Answer
    is_ours: bool = True
    """The answer is to the connection itself, not to what had to be sent before it: it tells about the channel's limits."""


class Connector:
    """Opens connections of one stream."""

    def __init__(self, transport: StreamTransport, signer: Signer, clock: Clock, stream: Stream) -> None:
        self._transport = transport
        self._signer = signer
        self._clock = clock
        self._stream = stream

    async def dial(self, cursor: str | None) -> Line | Refusal:
        opening = await self._prepare(cursor)
        return opening if isinstance(opening, Refusal) else await self._connect(opening)

    async def change(self, before: Subscription, after: Subscription) -> tuple[Retuned | Refusal | None, Answer | None]:
        """Asks the service for what is needed before an open connection hears something else; with its last answer, if any."""
        stream = self._stream
        answers: list[Answer] = []
        for _ in range(_MOST_STEPS):
            step = stream.provider.retune(before, after, answers)
            last = answers[-1] if answers else None
            if isinstance(step, Page):
                return Refusal(step, last or self._unsent(), is_ours=False), last
            if not isinstance(step, Request):
                return step, last
            signed = await self._signed(step)
            if isinstance(signed, Answer):
                return self._no_login(signed), last
            answers.append(await self._transport.send(stream.host, signed))
        page = Page(outcome=Outcome.UNREADABLE, detail=f"{_MOST_STEPS} requests did not lead to a change")
        return Refusal(page, answers[-1], is_ours=False), answers[-1]

    async def _prepare(self, cursor: str | None) -> Opening | Refusal:
        stream = self._stream
        answers: list[Answer] = []
        for _ in range(_MOST_STEPS):
            step = stream.provider.open(stream.wanted, cursor, answers)
            if isinstance(step, Opening):
                return step
            if isinstance(step, Page):
                return Refusal(step, answers[-1] if answers else self._unsent(), is_ours=False)
            signed = await self._signed(step)
            if isinstance(signed, Answer):
                return self._no_login(signed)
            answers.append(await self._transport.send(stream.host, signed))
        page = Page(outcome=Outcome.UNREADABLE, detail=f"{_MOST_STEPS} requests did not lead to a connection")
        return Refusal(page, answers[-1], is_ours=False)

    async def _connect(self, opening: Opening) -> Line | Refusal:
        signed = await self._signed(opening.request)
        if isinstance(signed, Answer):
            return self._no_login(signed)
        stream, sent_at = self._stream, self._clock.now()
        connection = await self._transport.connect(stream.host, signed, stream.channel.wire)
        if isinstance(connection, Answer):
            return Refusal(self._understood(connection), connection)
        for greeting in opening.greetings:
            await connection.send(greeting)
        status = 101 if stream.channel.wire is Wire.WEBSOCKET else 200
        return Line(connection, opening, Answer(status=status, sent_at=sent_at, received_at=self._clock.now()))

    async def _signed(self, request: Request) -> Request | Answer:
        stream = self._stream
        if stream.credential is None:
            return request
        return await self._signer.signed(request, stream.credential, stream.provider, stream.service, stream.host)

    def _no_login(self, answer: Answer) -> Refusal:
        return Refusal(self._understood(answer), answer, is_ours=False)

    def _understood(self, answer: Answer) -> Page:
        if answer.status == 0:
            return Page(outcome=Outcome.UNANSWERED, detail=answer.failure)
        if answer.status in _REDIRECTS:
            place = answer.headers.get("location", "elsewhere")[:200]
            return Page(
                outcome=Outcome.BAD_REQUEST, detail=f"the service streams from {place}: write that host as the stream's base"
            )
        return self._stream.provider.refused(self._stream.wanted, answer)

    def _unsent(self) -> Answer:
        now = self._clock.now()
        return Answer(status=0, sent_at=now, received_at=now)
