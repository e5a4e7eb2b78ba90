"""Lists of people who are not to be collected: handles, ids and addresses, or marks that somebody shares.

# one a line; this is a comment
@alice.bsky.social
@bob@mastodon.social
https://x.com/carol
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import NETWORKS, TRAITS, KeyForm, Service, Subject
from bowerbird.store.forgetting.names import wished
from bowerbird.store.people.names import has_local_keys

_MARK = re.compile(r"key [0-9a-f]{64}|mark [0-9a-f]{32}")
_USER_ID = re.compile("|".join(each.naming.user_id for each in NETWORKS.values() if each.naming.user_id))
_HANDLE = re.compile(r"[\w][\w.-]*(@[\w][\w.-]*\w(:\d+)?)?")
_ADDRESS = re.compile(r"(https?|at)://[^\s/]+/?\S*")
_WRITE = "write the address of the account, its id (did:…, x:123), or its handle (@alice@server, @alice.bsky.social)"


class OptOuts(Struct, frozen=True):
    """Who is on a list: what names an account on whatever network, and the lines of marks."""

    people: tuple[str, ...]
    lines: tuple[str, ...]


def read_opt_outs(path: Path, services: Sequence[Service]) -> OptOuts:
    """The list in a file; raises `UserError` naming the line that cannot be understood. What does not say of which network it is
    belongs to the one that is asked, where it is one."""
    people: dict[str, None] = {}
    lines: list[str] = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        if _MARK.fullmatch(text):
            lines.append(text)
        elif (named := _named(text, services)) and wished(named, None, Subject.USER):
            people[named] = None
        else:
            raise UserError(f"{path}:{number}: cannot tell whom {text!r:.60} means", _WRITE, code="not_understood")
    if lines and not any(line.startswith("key ") for line in lines):
        raise UserError(
            f"{path} has marks without their key, which keep nobody out",
            "take the whole file as it was shared",
            code="missing_value",
        )
    return OptOuts(tuple(people), tuple(lines))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UserError(
            f"the opt-out list {path} cannot be read: {error.strerror}", "check its permissions", code="file_unreadable"
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"the opt-out list {path} is not text in UTF-8 (byte {error.start})", "save it as such", code="file_unreadable"
        ) from None


def _named(text: str, services: Sequence[Service]) -> str:
    """An account by a name that says of which network it is; empty: cannot be told."""
    if "://" in text:
        is_account = _ADDRESS.fullmatch(text) and not any(name.startswith("post ") for name in wished(text, None, None))
        return text if is_account else ""
    networks = {TRAITS[each.provider].network.name for each in services}
    only = networks.pop() if len(networks) == 1 else ""
    if text.isdecimal():
        return f"{only}:{text}" if only and NETWORKS[only].keys is KeyForm.PREFIXED else ""
    if ":" in text and "@" not in text:
        return text if _USER_ID.fullmatch(text) or _is_id(text) else ""
    return _handle(text.removeprefix("@"), only, services)


def _is_id(text: str) -> bool:
    network, _, key = text.partition(":")
    return network in NETWORKS and NETWORKS[network].keys is KeyForm.PREFIXED and key.isdecimal()


def _handle(bare: str, network: str, services: Sequence[Service]) -> str:
    if not _HANDLE.fullmatch(bare):
        return ""
    if "@" in bare or "." in bare:
        return f"@{bare}"
    if network and has_local_keys(network) and len(services) == 1:
        return f"@{bare}@{urlsplit(services[0].base).netloc}"
    return NETWORKS[network].naming.profile.format(bare) if network else ""
