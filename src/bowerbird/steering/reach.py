"""What a crawl that is made in a browser may reach: networks, and ways to tell people that an admin put into the vault.

Who may steer may not run programs on the machine, nor have it talk to what listens for the machine alone, nor erase what others
collected: a crawl file that is started from a command line may, for whoever writes it there is at home.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from bowerbird.errors import UserError
from bowerbird.flows.consent import USUAL
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.modules import ModuleUse
from bowerbird.modules.running.found import BUILT_IN, KnownModules
from bowerbird.modules.tending.retention import Retention
from bowerbird.transport.public import is_of_the_machine as leads_to_the_machine

_VAULT = "vault:"
_OF_THE_MACHINE = frozenset({"metadata.google.internal", "metadata.goog"})
"""Names of where a rented machine is told its secrets. Where any other name leads there, the transport finds out."""


def check_reach(plan: CrawlPlan) -> None:
    """Raises `UserError` where a plan reaches farther."""
    for wrong in _too_far(plan):
        raise UserError(wrong)


def is_of_the_machine(base: str) -> bool:
    """Whether an address is that of a service which tells a machine about itself, however its numbers are written."""
    host = (urlsplit(base).hostname or "").rstrip(".").partition("%")[0]
    return host in _OF_THE_MACHINE or leads_to_the_machine(_address(host))


def _address(host: str) -> str:
    """An address in its usual form; empty for a name."""
    with suppress(ValueError):
        return str(ip_address(host))
    # As the system reads 2852039166 and 0xa9.254.43518.
    with suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host))
    return ""


def _too_far(plan: CrawlPlan) -> Iterator[str]:
    for base in (*(each.service.base for each in plan.services), *(each.host.base for each in plan.streams)):
        if is_of_the_machine(base):
            yield f"base {base!r:.60} is no server of a network: it tells a machine about itself"
    if plan.media is not None and plan.media.allows_private:
        yield "media.private_addresses is for tests from a command line: take it out"
    if plan.consent != USUAL:
        yield "consent decides for all crawls of this store what is kept of people, and erased: start it from a command line"
    for use in plan.flow.modules:
        if use.name not in BUILT_IN and use.options:
            yield f"the module {use.name} is of another package, whose options are set from a command line: take them out"
        if use.name == Retention.name:
            yield f"modules.{use.name} erases what all crawls of this store have collected: start it from a command line"
        if getattr(KnownModules()[use.name], "tells", False):
            yield from _told_beyond(use)


def _told_beyond(use: ModuleUse) -> Iterator[str]:
    """Ways to tell people that nobody but an admin may choose."""
    instead = "an admin puts the address under Credentials, and the file names it"
    if use.options.get("command"):
        yield f"modules.{use.name}.command runs a program of the machine: start it from a command line"
    if not str(use.options.get("webhook") or _VAULT).startswith(_VAULT):
        yield f'modules.{use.name}.webhook is an address: {instead}, such as webhook = "vault:chat"'
    if use.options.get("mail") and not str(use.options.get("server", "")).startswith(_VAULT):
        yield f'modules.{use.name}.mail is sent by a server of the vault: {instead}, such as server = "vault:mail"'
