"""The names under which people and posts are known, and where they stand in a text. Pure.

A name is a subject and what it is called: `user did:plc:…`, `handle x alice`, `post https://…`. They are read out of what a
person writes, of texts, addresses, logs and payloads in one way, so that what is forgotten by one name is found by it anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import Enum

from bowerbird.model import NETWORKS, Subject
from bowerbird.model.networks import USER_MARKS, PageForm
from bowerbird.store.people.names import has_local_keys, id_for

_PIECE = re.compile(r"[^\s\"'<>\\,(){}\[\];|]+")
"""What stands between blanks, quotation marks and brackets: simple, because whole stores are read with it."""
_ADDRESS = re.compile(r"(?:at|https?)://.+")
_USER_ID = re.compile("|".join(each.naming.user_id for each in NETWORKS.values() if each.naming.user_id))
_HANDLE = re.compile(r"@?[\w][\w.-]*@[\w.-]+\w(?::\d+)?|@[\w][\w.-]*")
_MENTIONS = {each.name: re.compile(each.naming.mention) for each in NETWORKS.values() if each.naming.mention}
"""Of the networks that read a mention less far than a handle can go elsewhere."""
_LATIN = re.compile(r"@?[A-Za-z0-9_.@-]+")
"""What of a handle may be all of it where letters of another script follow without a blank."""
_SIGNS = re.compile("[@.:]")
"""One of these is in everything that names somebody in a text."""
_PAGES = sorted(
    ((each.name, re.compile(page.pattern), page) for each in NETWORKS.values() for page in each.naming.pages),
    key=lambda known: known[2].is_anywhere,
)
"""What addresses lead to, those of a certain host first."""
_END = ".,;:!?)-'…"


class Kind(Enum):
    """What is read, and so what may be a name in it."""

    TEXT = "text"
    """What a person wrote: a number there is a number, and a handle has its sign or is an address."""
    PAYLOAD = "payload"
    """JSON of a service: handles and keys are whole texts, or numbers."""
    LINE = "line"
    """A line of our own, such as the targets of a call: any word may be a key, and handles have their sign."""


def handle_names(network: str, handle: str) -> Iterator[str]:
    """How a handle is known; on networks of many servers also without the server, which counts only beside a mention."""
    bare = handle.removeprefix("@").lower()
    yield f"handle {network} {bare}"
    if has_local_keys(network) and "@" in bare:
        yield f"short {network} {bare.partition('@')[0]}"


def user_name(known_id: str) -> str:
    return f"user {_plain(known_id)}"


def post_name(known_id: str) -> str:
    return f"post {_plain(known_id)}"


def user_names(network: str, known_id: str, handle: str | None = None, url: str | None = None) -> set[str]:
    """Every name of an account. An address counts where it is that of the profile: elsewhere it is whatever people like."""
    names = {user_name(known_id), *(handle_names(network, handle) if handle else ())}
    if has_local_keys(network):
        addresses = [each for each in (known_id, url) if each and "://" in each]
        names |= {each for address in addresses for each in _address_names(address) if not each.startswith("post ")}
    return names


def post_names(known_id: str, url: str | None = None) -> set[str]:
    return {post_name(known_id), *((post_name(url),) if url else ())}


def key_names(network: str, service: str, key: str) -> tuple[str, str]:
    """What a key of a service may mean: an account, or a post."""
    known = id_for(network, service, key)
    return user_name(known), post_name(known)


def local_name(network: str, service: str, handle: str) -> str:
    """How an account is asked for on its own server: `@alice`, without the server. Elsewhere that is somebody else."""
    return key_names(network, service, f"@{handle.removeprefix('@').partition('@')[0].lower()}")[0]


def wished(written: str, network: str | None, subject: Subject | None) -> set[str]:
    """The names of exactly the account or post that a person means by what they write; nothing where that does not tell which: a
    handle without a network or without its server, a number without a subject."""
    if "://" in written:
        is_post = subject is Subject.POST or (subject is None and _leads_to_post(_plain(written)))
        found = _address_names(written)
        return {each for each in found if each.startswith("post ") is is_post}
    if ":" in written and "@" not in written:
        known = Subject.USER if written.startswith(USER_MARKS) else subject
        return {user_name(written)} if known is Subject.USER else {post_name(written)} if known else set()
    network = network or _network_of(written)
    return set(handle_names(network, written)) if network and "@" in written and is_whole(network, written) else set()


def is_whole(network: str, handle: str) -> bool:
    """Whether a handle is that of one account: without its server, or its domain, many may be called so."""
    bare = handle.removeprefix("@")
    return "@" in bare if has_local_keys(network) else "." in bare or not NETWORKS[network].naming.has_domain_handles


def _leads_to_post(address: str) -> bool:
    found = _page(address)
    return found is not None and bool(found[1].groupdict().get("post"))


def _network_of(handle: str) -> str | None:
    """Which network a handle is of, where its form says so."""
    bare = handle.removeprefix("@")
    if "@" in bare:
        fitting = [name for name in NETWORKS if has_local_keys(name)]
    else:
        fitting = [name for name, each in NETWORKS.items() if "." in bare and each.naming.has_domain_handles]
    return fitting[0] if len(fitting) == 1 else None


def words_in(text: str, kind: Kind, network: str | None = None) -> Iterator[tuple[int, str]]:
    """Everything in a text that may name somebody, and where it begins; `network`: whose rules say where a handle ends."""
    # Some networks take the wide sign of Chinese and Japanese keyboards for the usual one; nobody means anything else by it.
    text = text.replace("\uff20", "@")
    if kind is Kind.TEXT and not _SIGNS.search(text):
        return
    for found in _PIECE.finditer(text):
        piece, start = found.group(), found.start()
        if "@" in piece or "." in piece or ":" in piece:
            yield from _signed(piece, start, kind, network)
        elif kind is Kind.LINE or (kind is Kind.PAYLOAD and (piece.isdigit() or _is_quoted(text, start, found.end()))):
            yield start, piece


def _signed(piece: str, start: int, kind: Kind, network: str | None) -> Iterator[tuple[int, str]]:
    """The names in a piece that has a sign of one."""
    form = _ADDRESS if "://" in piece else _USER_ID if _USER_ID.search(piece) else _HANDLE if "@" in piece else None
    if form is not None:
        for each in form.finditer(piece):
            at, written = start + each.start(), each.group().rstrip(_END)
            yield from _handles(at, written, network) if form is _HANDLE else ((at, written),) if written else ()
        return
    bare = piece.strip(_END)
    if bare and (kind is not Kind.TEXT or "." in bare or ":" in bare):
        yield start + len(piece) - len(piece.lstrip(_END)), bare


def _handles(at: int, written: str, network: str | None) -> Iterator[tuple[int, str]]:
    """A handle, and those that it may hold: not every language leaves a blank before a handle, or after it."""
    sign = written.find("@", 1)
    for start in (0, sign) if sign > 0 else (0,):
        whole = written[start:]
        if whole:
            yield at + start, whole
        if not whole.isascii() and (latin := _LATIN.match(whole)) and (bare := latin.group().rstrip(_END)):
            yield at + start, bare
        for name, mention in _MENTIONS.items():
            short = mention.match(whole) if network in (None, name) else None
            if short and _ends(whole[short.end() :], is_sure=network == name):
                yield at + start, short.group()


def _ends(rest: str, *, is_sure: bool) -> bool:
    """Whether a handle ends before this; where it may be of another network, a dot may belong to it."""
    return bool(rest) and not rest.startswith("@") and (is_sure or rest.startswith("-"))


def _is_quoted(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start] == '"' and text[end : end + 1] == '"'


def meanings(written: str, kind: Kind, network: str | None, services: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The names that a word may be; `services` (network and name) are those whose keys it may be."""
    is_deep, networks = kind is not Kind.TEXT, (network,) if network else tuple(NETWORKS)
    if "://" in written:
        yield from _address_names(written)
        return
    if ":" in written and "@" not in written:
        yield user_name(written)
        yield post_name(written)
        return
    if "@" in written or "." in written or kind is Kind.PAYLOAD:
        bare = written.removeprefix("@").lower()
        yield from (f"handle {network} {bare}" for network in networks)
    if is_deep:
        for network, service in services:
            if network in networks:
                yield from key_names(network, service, written)


def _address_names(address: str) -> Iterator[str]:
    """What an address names: itself as an id, and the account and the post that it leads to."""
    plain = _plain(address)
    yield f"user {plain}"
    yield f"post {plain}"
    if led := _page(plain):
        network, found, page = led
        yield from (f"user {each}" for each in _filled(page.users, found))
        yield from (f"handle {network} {each.lower()}" for each in _filled(page.handles, found))
        yield from (f"post {each}" for each in _filled(page.posts, found))


def _page(address: str) -> tuple[str, re.Match[str], PageForm] | None:
    """Of which network the page at an address is, and what of its form was found there."""
    return next(((name, found, page) for name, pattern, page in _PAGES if (found := pattern.match(address))), None)


def _filled(forms: Sequence[str], found: re.Match[str]) -> Iterator[str]:
    groups = {name: text for name, text in found.groupdict().items() if text}
    for form in forms:
        with suppress(KeyError):
            yield form.format_map(groups)


def _plain(address: str) -> str:
    """An address without what does not change where it leads; anything else as it is."""
    return address if "://" not in address else re.split(r"[?#]", address, maxsplit=1)[0].rstrip("/")
