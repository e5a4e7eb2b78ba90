"""What limits are called on screens: `paged calls of account mine` rather than the name of its row in the ledgers."""

from __future__ import annotations

from collections.abc import Iterable

_WHAT = {
    "account": "calls",
    "address": "calls",
    "daily": "calls a day",
    "export": "exports",
    "login": "logins",
    "login_day": "logins a day",
    "paging": "paged calls",
    "second": "calls a second",
    "together": "calls of all kinds",
    "token": "calls",
    "user": "calls",
}
"""What the last part of a name counts; any other is the name of what is asked for."""


def limit_words(buckets: Iterable[str]) -> dict[str, str]:
    """By name what each limit counts, and whose it is; the service is named where there are several."""
    names = list(buckets)
    has_one = len({_service(name) for name in names}) <= 1
    return {name: _words(name) if has_one else f"{_words(name)} at {_service(name)}" for name in names}


def limit_kind(bucket: str) -> str:
    """What a limit counts, without whose it is: for those who publish."""
    name = bucket.rpartition("/")[2]
    return _WHAT.get(name, name)


def limit_word(bucket: str) -> str:
    """The same of one limit, with its service."""
    return f"{_words(bucket)} at {_service(bucket)}"


def _service(bucket: str) -> str:
    return bucket.partition("/")[0]


def _words(bucket: str) -> str:
    whose, _, name = bucket.partition("/")[2].rpartition("/")
    what = _WHAT.get(name, name.replace("_", " "))
    return f"{what} {_owner(whose or name)}".strip()


def _owner(whose: str) -> str:
    kind, colon, name = whose.partition(":")
    if whose == "address":
        return "from this address"
    if colon:
        return f"of {kind} {name}"
    return "" if whose in ("connections", "together") else f"with {whose}"
