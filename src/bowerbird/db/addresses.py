"""Addresses of databases: a password may stand in them, so only a part of one is ever shown."""

from __future__ import annotations

import re
from urllib.parse import unquote

from bowerbird.errors import StoreError

_POSTGRES = ("postgresql://", "postgres://")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_VAULT = "vault:"
_HOST = r"(?:[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*")
_SHOWN = re.compile(rf"{_HOST}(?:,{_HOST})*(?:/[\w.-]*)?")
_OPTIONS = re.compile(r"\?(?:[a-z_]+=[^&]*(?:&[a-z_]+=[^&]*)*)?")
_PASSWORD = re.compile(r"(?:^|[?&])(?:password|sslpassword)=([^&]*)")
HIDDEN = "…"


def is_postgres(where: str) -> bool:
    return where.startswith(_POSTGRES)


def in_vault(where: str) -> str | None:
    """The name of the vault's entry that holds the address, where one is named instead of it."""
    return where.removeprefix(_VAULT) if where.startswith(_VAULT) else None


def is_no_file(where: str) -> bool:
    """Whether it looks like an address of something else than a file, if one that was written wrongly."""
    return bool(re.search(r"(?:^|/)postgres\w*:/|^[a-z][a-z0-9+]+://", where))


def public(where: str) -> str:
    """Where the data is, without user, password and options: a password may stand in either, however it is written."""
    scheme, mark, rest = where.partition("://")
    if not mark:
        # A path, unless it looks like an address that was written wrongly.
        return HIDDEN + where.rpartition("@")[2] if re.search(r":.*@", where) else where
    if not _SCHEME.fullmatch(scheme):
        # The mark stands in the password of an address that was written wrongly.
        return HIDDEN
    # Where a ? or @ is part of the password the two readings differ, and none can be trusted.
    by_user, by_options = rest.rpartition("@")[2].partition("?")[0], rest.partition("?")[0].rpartition("@")[2]
    is_plain = by_user == by_options and _SHOWN.fullmatch(by_user)
    return f"{scheme}://{by_user if is_plain else HIDDEN}"


def check_address(where: str) -> None:
    """Raises `StoreError` for an address of which a client would take a part of the password for something else."""
    rest = where.partition("://")[2]
    head = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path, mark, options = rest[len(head) :].partition("?")
    is_whole = _HOSTS.fullmatch(head.rpartition("@")[2]) and "@" not in path and "#" not in rest
    if not is_whole or (not _OPTIONS.fullmatch(mark + options) and mark):
        raise StoreError(
            "the address of the database is not understood: it must be postgresql://user:password@host/database. In user and "
            "password write / as %2F, @ as %40, # as %23, ? as %3F, % as %25 and a space as %20; or leave the password out and "
            "set PGPASSWORD",
            code="invalid_address",
        )


def without_password(where: str, words: str) -> str:
    """The words of a client about a connection, without the password that it was made with."""
    user, _, options = where.partition("://")[2].partition("?")
    written = [user.rpartition("@")[0].partition(":")[2], *_PASSWORD.findall("?" + options)]
    for password in sorted({*written, *map(unquote, written)} - {""}, key=len, reverse=True):
        words = words.replace(password, HIDDEN)
    return words
