"""Takes our own secrets out of whatever a server says, before anybody reads it.

A server may repeat a token: in an error's text, in a page for debugging, in a header, in the reason it closes a stream with. What
comes in is cleaned here, so that nothing behind can write it to a table, a log or a screen.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from urllib.parse import unquote

from msgspec import structs

from bowerbird.model import Answer, Ended, Request, Secret, Service, Wire
from bowerbird.ports import Connection, StreamTransport, Transport

PUBLIC = frozenset({"identifier", "did", "handle"})
"""What is kept with a secret and is none."""
SHORTEST = 8
"""A shorter secret is a word of the language: to take it out would damage what others have written."""
_SIGNATURE = re.compile(r'oauth_signature="([^"]+)"')
_GENERATIONS = 3
"""So many tokens of a session are remembered: those before the last few open nothing any more."""


class _Hidden:
    """One secret value: quick marks that any of its spellings has, and the pattern of all of them."""

    def __init__(self, value: str) -> None:
        self._value = value
        self._cores = [core for core in _base64_cores(value.encode()) if len(_longest_word(core)) >= SHORTEST]
        self._marks = tuple(map(_longest_word, (value.encode(), *self._cores)))

    def is_in(self, text: bytes) -> bool:
        return any(mark in text for mark in self._marks)

    def masked(self, text: bytes) -> bytes:
        # Of the same length: a binary message stays readable.
        return self._pattern.sub(lambda found: b"*" * len(found[0]), text)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        spelled = b"".join(_spellings(character) for character in self._value)
        return re.compile(b"|".join((spelled, *(_in_either_alphabet(core) for core in self._cores))))


def _longest_word(value: bytes) -> bytes:
    """The longest part that no way of quoting changes."""
    words: list[bytes] = re.findall(rb"[A-Za-z0-9]+", value)
    return max(words, key=len, default=value)


def _spellings(character: str) -> bytes:
    """One character as it stands, or as addresses, JSON and HTML quote it."""
    code = ord(character)
    if character.isalnum():
        return re.escape(character.encode())
    # `%25` repeated: an address quoted within an address.
    quoted = [f"%(?:25)*(?i:{code:02x})", rf"\\+u(?i:{code:04x})", f"&#0*{code};", f"&#[xX]0*(?i:{code:x});"]
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
    quoted += [re.escape(named[character])] if character in named else []
    return rb"(?:\\*" + re.escape(character.encode()) + b"|" + "|".join(quoted).encode() + b")"


def _base64_cores(value: bytes) -> Iterator[bytes]:
    """What a base64 text has in it wherever in the encoded bytes the value begins."""
    for before in range(3):
        encoded = b64encode(bytes(before) + value)
        # Its first and last characters also depend on the neighbours.
        first = -(-before * 8 // 6)
        yield encoded[first : (before + len(value)) * 8 // 6]


def _in_either_alphabet(core: bytes) -> bytes:
    return re.escape(core).replace(re.escape(b"+"), b"[+-]").replace(re.escape(b"/"), b"[/_]")


class Redactor:
    """Knows the secrets that were used, and replaces them by asterisks."""

    def __init__(self) -> None:
        self._values: defaultdict[tuple[str, str], deque[str]] = defaultdict(lambda: deque(maxlen=_GENERATIONS))
        self._hidden: tuple[_Hidden, ...] = ()

    def learn(self, secret: Secret) -> None:
        """From now on the secret's values, as far as they are secret, are taken out of everything."""
        news = {name: value for name, value in secret.values.items() if value not in self._values[secret.name, name]}
        for name, value in news.items():
            self._values[secret.name, name].append(value)
        if news:
            self._prepare()

    def _prepare(self) -> None:
        kept = {value for (_, name), values in self._values.items() if name not in PUBLIC for value in values}
        # Some are given out as they stand in addresses, and then repeated as they are.
        kept |= {unquote(value) for value in kept}
        # The longest first: of one that begins with another, the end must not stay behind.
        self._hidden = tuple(_Hidden(value) for value in sorted(kept, key=len, reverse=True) if len(value) >= SHORTEST)

    def cleaned(self, answer: Answer, request: Request | None = None) -> Answer:
        """The answer without any secret; `request` is what it answers, for what was made for that alone."""
        own = _signatures(request) if request is not None else ()
        body = self.clean(answer.body, own)
        headers, failure = self._headers(answer.headers, own), self.clean_text(answer.failure, own)
        if body is answer.body and headers is answer.headers and failure is answer.failure:
            return answer
        return structs.replace(answer, headers=headers, body=body, failure=failure)

    def clean(self, text: bytes, more: Sequence[_Hidden] = ()) -> bytes:
        """The same bytes, or as many with asterisks in the place of secrets."""
        for hidden in (*self._hidden, *more) if text else ():
            if hidden.is_in(text):
                text = hidden.masked(text)
        return text

    def finds(self, text: bytes) -> bool:
        """Whether any secret is in the text, in whatever spelling."""
        return any(hidden.is_in(text) and hidden.masked(text) != text for hidden in self._hidden)

    def clean_text(self, text: str, more: Sequence[_Hidden] = ()) -> str:
        encoded = text.encode(errors="surrogatepass")
        cleaned = self.clean(encoded, more)
        return text if cleaned is encoded else cleaned.decode(errors="replace")

    def _headers(self, headers: dict[str, str], more: Sequence[_Hidden]) -> dict[str, str]:
        whole = "\n".join((*headers, *headers.values())).encode(errors="surrogatepass")
        if self.clean(whole, more) is whole:
            return headers
        return {self.clean_text(name, more): self.clean_text(value, more) for name, value in headers.items()}


def _signatures(request: Request) -> tuple[_Hidden, ...]:
    """The OAuth 1.0a signature of one request."""
    found = _SIGNATURE.search(request.headers.get("authorization", ""))
    return (_Hidden(unquote(found[1])),) if found else ()


class DiscreetTransport:
    """Carries everything of a crawl; what it brings back holds no secret. Implements `ports.StreamTransport` over one."""

    def __init__(self, transport: Transport, redactor: Redactor) -> None:
        self._transport = transport
        self._redactor = redactor

    async def send(self, service: Service, request: Request) -> Answer:
        return self._redactor.cleaned(await self._transport.send(service, request), request)

    async def connect(self, service: Service, request: Request, wire: Wire) -> Connection | Answer:
        if not isinstance(self._transport, StreamTransport):
            raise NotImplementedError("the transport beneath holds no connections open")
        opened = await self._transport.connect(service, request, wire)
        if isinstance(opened, Answer):
            return self._redactor.cleaned(opened, request)
        return DiscreetConnection(opened, self._redactor) if "authorization" in request.headers else opened

    async def close(self) -> None:
        await self._transport.close()


class DiscreetConnection:
    """A signed stream without our secrets in it; implements `ports.Connection`."""

    def __init__(self, connection: Connection, redactor: Redactor) -> None:
        self._connection = connection
        self._redactor = redactor

    async def receive(self, until: datetime) -> Sequence[bytes] | Ended:
        received = await self._connection.receive(until)
        if isinstance(received, Ended):
            return structs.replace(received, reason=self._redactor.clean_text(received.reason))
        return [self._redactor.clean(message) for message in received]

    async def send(self, message: bytes) -> None:
        await self._connection.send(message)

    async def close(self) -> None:
        await self._connection.close()
