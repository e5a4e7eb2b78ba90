"""Entries of the vault that open no network: addresses of databases, of webhooks and of mail servers, with their passwords."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from bowerbird.db.addresses import check_address, is_postgres, public
from bowerbird.errors import CredentialError
from bowerbird.limits.keys.fields import ADDRESS, DATABASE, MESSAGE
from bowerbird.model import Credential


def database_entry(name: str, values: Mapping[str, str]) -> Credential:
    """A database by its whole address; what is kept in the open is the address without its password."""
    address = values[ADDRESS]
    if not is_postgres(address):
        raise CredentialError("the address of a database is postgresql://user:password@host/database")
    check_address(address)
    return Credential(name=name, provider=DATABASE, account=name, servers=(public(address),))


def message_entry(name: str, values: Mapping[str, str]) -> Credential:
    """A webhook or a mail server."""
    server = urlsplit(values[ADDRESS])
    if server.scheme not in ("http", "https", "smtp", "smtps") or not server.hostname:
        raise CredentialError(
            "the address for messages is https://… of a webhook, or smtp://user:password@host:587 of a mail server"
        )
    return Credential(name=name, provider=MESSAGE, account=name, servers=(f"{server.scheme}://{server.hostname}",))


def how_used(entry: Credential) -> str:
    """What a crawl file says to use it."""
    if entry.provider == DATABASE:
        return f'In a crawl file write: store = "vault:{entry.name}"'
    key = "server" if entry.servers[0].startswith("smtp") else "webhook"
    return f'In [modules.notification] write: {key} = "vault:{entry.name}"'
