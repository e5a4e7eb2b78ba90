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
from html.entities import html5
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
_MOST_ODD = 5_000
"""Odd escapes of one text that are read. Where there are more, each of them is taken out instead: somebody may have written them
into a post to have the posts of others on the same page blanked."""
_HEX = rb"(?:3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|2[dDeE]|5[fF]|7[eE])"
_DECIMAL = rb"(?:4[5689]|5[0-7]|6[5-9]|[78][0-9]|9[057-9]|1[01][0-9]|12[0-26])"
_NUMBER = rb"(?:0*" + _DECIMAL + rb"(?![0-9])|[xX]0*" + _HEX + rb"(?![0-9a-fA-F]))"
_HASH = rb"&(?:num;|#0*35;|#[xX]0*23;)"
# What follows one of the characters that begin an escape, where it is one of a letter.
_IN_HTML, _IN_ADDRESS, _IN_JSON = rb"(?:amp;)*(?:#|" + _HASH + rb")" + _NUMBER, rb"(?:25)*" + _HEX, rb"u00" + _HEX
_IN_DECIMAL = rb"38;?" + _IN_HTML + rb"|37;?" + _IN_ADDRESS + rb"|92;?" + _IN_JSON
_IN_HEXADECIMAL = rb"26;?" + _IN_HTML + rb"|25;?" + _IN_ADDRESS + rb"|5[cC];?" + _IN_JSON
_BY_NUMBER = (
    rb"#(?:0*(?:"
    + _DECIMAL
    + rb"(?![0-9])|"
    + _IN_DECIMAL
    + rb")|[xX]0*(?:"
    + _HEX
    + rb"(?![0-9a-fA-F])|"
    + _IN_HEXADECIMAL
    + rb"))"
)
_BY_NAME = rb"AMP;" + _IN_HTML + rb"|percnt;" + _IN_ADDRESS + rb"|bsol;" + _IN_JSON + rb"|fjlig;"
_ENTITY = rb"(?:amp;)*(?:" + _BY_NUMBER + rb"|" + _HASH + _NUMBER + rb"|" + _BY_NAME + rb")"
_QUOTED_ENTITY = rb"26(?:amp(?:;|%(?:25)*3[bB]))*(?:#|%(?:25)*23)" + _NUMBER
_ODD = (
    (
        b"\\",
        re.compile(
            rb"\\(?:u00(?:2(?:[dDeE35]|6" + _ENTITY + rb")|3[0-9]|[46][1-9a-fA-F]|5[0-9aAcCfF]|7[0-9aAeE])|x" + _HEX + rb")"
        ),
    ),
    (b"%", re.compile(rb"%(?=[2-7])(?:25)*(?:" + _HEX + rb"|5[cC]" + _IN_JSON + rb"|" + _QUOTED_ENTITY + rb")")),
    (b"&", re.compile(rb"&" + _ENTITY)),
)
"""Letters, digits and the like as escapes, in JSON, addresses and HTML, or escapes made of escapes: nobody writes so who has
nothing to hide. Each with a character that is found at once: every answer is searched, and a pattern that begins with plain
letters is quicker to find than these letters themselves. A sign alone, or before what is no escape, is of every day."""
_NUMERALS = re.compile(r"&#(?:[xX]0*([0-9a-fA-F]{1,6})(?![0-9a-fA-F])|0*([0-9]{1,7})(?![0-9]));?")
_NAMED = re.compile(r"&[A-Za-z][A-Za-z0-9]{1,31};?")
# Of scripts, too: some write whatever is no letter so.
_JSON = re.compile(r"""\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["\\/]))""")
_NAMES: defaultdict[str, list[str]] = defaultdict(list)
"""What HTML calls a character: there are encoders that write all of them by name."""
for _name, _character in html5.items():
    _NAMES[_character].append(_name)


class _Hidden:
    """One secret value: quick marks that any of its spellings has, and the pattern of all of them."""

    def __init__(self, value: str) -> None:
        self._value = value
        self._cores = [core for core in _base64_cores(value.encode()) if len(_longest_word(core)) >= SHORTEST]
        written = (value.encode(), *self._cores)
        self._marks = tuple(map(_longest_word, written))
        self._words = tuple(words for each in written if len(b"".join(words := _words(each))) >= SHORTEST)

    def is_in(self, text: bytes) -> bool:
        return any(mark in text for mark in self._marks)

    def is_left_in(self, text: bytes) -> bool:
        """Whether its letters still stand in a text that was masked: what is between them may be written in another way."""
        longest = self._marks[0]
        is_long = len(longest) >= SHORTEST and longest in text
        return is_long or any(all(word in text for word in words) for words in self._words)

    def masked(self, text: bytes) -> bytes:
        # Of the same length: a binary message stays readable.
        return self._pattern.sub(lambda found: b"*" * len(found[0]), text)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        spelled = b"".join(_spellings(character) for character in self._value)
        return re.compile(b"|".join((spelled, *(_in_either_alphabet(core) for core in self._cores))))


def _words(value: bytes) -> list[bytes]:
    """The parts that no way of quoting changes."""
    return re.findall(rb"[A-Za-z0-9]+", value)


def _longest_word(value: bytes) -> bytes:
    return max(_words(value), key=len, default=value)


def _spellings(character: str) -> bytes:
    """One character as it stands, or as addresses, JSON and HTML quote it. Repetitions are bounded: texts may consist of them."""
    code = ord(character)
    # `%25` repeated: an address quoted within an address.
    quoted = [f"%(?:25){{0,8}}(?i:{code:02x})", rf"\\{{1,8}}(?:u(?i:{code:04x})|x(?i:{code:02x}))"]
    quoted += [f"&#0{{0,8}}{code}(?:;|(?![0-9]))", f"&#[xX]0{{0,8}}(?i:{code:x})(?:;|(?![0-9a-fA-F]))"]
    quoted += [f"&{re.escape(name)}" for name in sorted(_NAMES.get(character, ()), reverse=True)]
    # Before a letter a backslash is an escape of its own.
    plain = re.escape(character.encode()) if character.isalnum() else rb"\\{0,8}" + re.escape(character.encode())
    return b"(?:" + plain + b"|" + "|".join(quoted).encode() + b")"


def _odd_escapes(text: bytes) -> int:
    """How many there are, as far as it matters."""
    found = (pattern.finditer(text) for mark, pattern in _ODD if mark in text)
    return sum(1 for _ in islice(chain.from_iterable(found), _MOST_ODD + 1))


def _without_odd(text: bytes) -> bytes:
    """As many bytes without any odd escape; what was JSON still is."""
    for _ in range(_LAYERS):
        for mark, pattern in _ODD:
            if mark in text:
                text = pattern.sub(_blank, text)
        if not _odd_escapes(text):
            break
    return text


def _blank(found: re.Match[bytes]) -> bytes:
    # A backslash before it may make one of its own: what follows must be good either way.
    begin = b"\\u002a" if found[0].startswith(b"\\u") else found[0][:1].replace(b"%", b"*").replace(b"&", b"*")
    return begin + b"*" * (len(found[0]) - len(begin))


def _undone(text: str) -> str:
    """The text with one layer of escapes read."""
    read = _JSON.sub(lambda found: found[3] or chr(int(found[1] or found[2], 16)), text)
    # Those of numbers apart: the library breaks at endless ones.
    read = _NUMERALS.sub(lambda found: unescape(f"&#{int(found[1], 16) if found[1] else found[2]};"), read)
    return unquote(_NAMED.sub(lambda found: unescape(found[0]), read), errors="replace")


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
            odd, cleaned = 0, _without_odd(text)
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
