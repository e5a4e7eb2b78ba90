"""Takes our own secrets out of whatever a server says, before anybody reads it.

A server may repeat a token: in an error's text, in a page for debugging, in a header, in the reason it closes a stream with. What
comes in is cleaned here, so that nothing behind can write it to a table, a log or a screen. Escapes are read too, because others
read them later; a text that still holds a secret when several of them have been undone is not let through at all.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from html import unescape
from itertools import chain, islice
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
_LAYERS = 4
"""Escapes within escapes that are undone: our own readers undo three at most, JSON in JSON and HTML."""
_MOST_ODD = 500
"""Odd escapes of one text that are read; one with more of them was made to cost time."""
_HEX = rb"(?:3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|2[dDeE]|5[fF]|7[eE])"
_DECIMAL = rb"(?:4[5689]|5[0-7]|6[5-9]|[78][0-9]|9[057-9]|1[01][0-9]|12[0-26])"
_NUMERAL = rb"#(?:0*" + _DECIMAL + rb"(?![0-9])|[xX]0*" + _HEX + rb"(?![0-9a-fA-F]))"
_ODD = (
    (b"\\u00", re.compile(rb"\\u00(?:" + _HEX + rb"|25|5[cC])")),
    (b"%", re.compile(rb"%(?:25)*" + _HEX)),
    (b"&", re.compile(rb"&(?:amp;)*" + _NUMERAL)),
    (b"\\u0026", re.compile(rb"\\u0026(?:amp;)*" + _NUMERAL)),
    (b"\\u0023", re.compile(rb"\\u0023")),
)
"""Letters, digits and the like as escapes, in JSON, addresses and HTML, or escapes made of escapes: nobody writes so who has
nothing to hide. Each with what is found quickly."""
_NUMERALS = re.compile(r"&#(?:[xX]0*([0-9a-fA-F]{1,6})(?![0-9a-fA-F])|0*([0-9]{1,7})(?![0-9]));?")
_JSON = re.compile(r"""\\(?:u([0-9a-fA-F]{4})|(["\\/]))""")


class _Hidden:
    """One secret value: quick marks that any of its spellings has, and the pattern of all of them."""

    def __init__(self, value: str) -> None:
        self._value = value
        self._cores = [core for core in _base64_cores(value.encode()) if len(_longest_word(core)) >= SHORTEST]
        self._marks = tuple(map(_longest_word, (value.encode(), *self._cores)))

    def is_in(self, text: bytes) -> bool:
        return any(mark in text for mark in self._marks)

    def is_left_in(self, text: bytes) -> bool:
        """Whether a good part of it still stands in a text that was masked: the rest may be written in another way."""
        return len(self._marks[0]) >= SHORTEST and self._marks[0] in text

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
    """One character as it stands, or as addresses, JSON and HTML quote it. Repetitions are bounded: texts may consist of them."""
    code = ord(character)
    # `%25` repeated: an address quoted within an address.
    quoted = [f"%(?:25){{0,8}}(?i:{code:02x})", rf"\\{{1,8}}u(?i:{code:04x})"]
    quoted += [f"&#0{{0,8}}{code}(?:;|(?![0-9]))", f"&#[xX]0{{0,8}}(?i:{code:x})(?:;|(?![0-9a-fA-F]))"]
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
    quoted += [re.escape(named[character])] if character in named else []
    # Before a letter a backslash is an escape of its own.
    plain = re.escape(character.encode()) if character.isalnum() else rb"\\{0,8}" + re.escape(character.encode())
    return b"(?:" + plain + b"|" + "|".join(quoted).encode() + b")"


def _odd_escapes(text: bytes) -> int:
    """How many there are, as far as it matters."""
    found = (pattern.finditer(text) for mark, pattern in _ODD if mark in text)
    return sum(1 for _ in islice(chain.from_iterable(found), _MOST_ODD + 1))


def _undone(text: str) -> str:
    """The text with one layer of escapes read."""
    read = _JSON.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], text)
    # Those of numbers first: the library breaks at endless ones.
    read = _NUMERALS.sub(lambda found: unescape(f"&#{int(found[1], 16) if found[1] else found[2]};"), read)
    return unquote(unescape(read.replace("&#", "& #")), errors="replace")


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
        """The same bytes, or as many with asterisks in the place of secrets; of a text that hides one deeper, nothing else."""
        known = (*self._hidden, *more)
        if not text or not known:
            return text
        odd, cleaned = _odd_escapes(text), text
        if not odd and not any(hidden.is_in(text) for hidden in known):
            return text
        if odd > _MOST_ODD:
            return b"*" * len(text)
        for hidden in known:
            if odd or hidden.is_in(cleaned):
                cleaned = hidden.masked(cleaned)
        is_suspect = odd or any(hidden.is_left_in(cleaned) for hidden in known)
        if is_suspect and _is_deep_in(cleaned, known):
            return b"*" * len(text)
        return text if cleaned == text else cleaned

    def finds(self, text: bytes) -> bool:
        """Whether any secret is in the text, in whatever spelling."""
        return self.clean(text) is not text

    def clean_text(self, text: str, more: Sequence[_Hidden] = ()) -> str:
        encoded = text.encode(errors="surrogatepass")
        cleaned = self.clean(encoded, more)
        return text if cleaned is encoded else cleaned.decode(errors="replace")

    def _headers(self, headers: dict[str, str], more: Sequence[_Hidden]) -> dict[str, str]:
        whole = "\n".join((*headers, *headers.values())).encode(errors="surrogatepass")
        if self.clean(whole, more) is whole:
            return headers
        return {self.clean_text(name, more): self.clean_text(value, more) for name, value in headers.items()}


def _is_deep_in(text: bytes, known: Sequence[_Hidden]) -> bool:
    """Whether a secret comes out of the text when escapes within escapes are read."""
    read = text.decode(errors="replace")
    for _ in range(_LAYERS):
        before, read = read, _undone(read)
        if read == before:
            return False
        found = read.encode(errors="replace")
        if any(hidden.is_in(found) and hidden.masked(found) != found for hidden in known):
            return True
    return False


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
