"""What a crawl is opened with besides its plan: what reaches the world, and how this process takes part."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct

from bowerbird.model import Credential
from bowerbird.ports import Clock, MediaTransport, Messenger, Transport, Vault


class Participation(Struct, frozen=True, kw_only=True):
    """How one process takes part in its crawl, among others that may."""

    is_alone: bool = False
    """Whether a crawl that another process runs already is refused."""
    label: str = ""
    """What its user calls this worker among those of a crawl."""
    is_continued: bool = False
    """Whether this process only opens its crawl anew: a pause or a stop holds then."""
    makes_calls: bool = True
    """Whether the process makes calls itself, or only hands them out to others."""
    offered: tuple[Credential, ...] = ()
    """What these others can sign with; the secrets are theirs."""
    applies: bool | None = None
    """Whether a plan that differs from the crawl's becomes it or is refused; None: it does where nobody else runs the crawl."""
    is_passing: bool = False
    """Whether the store goes when the crawl has come to its end: see `store.opening.open_store`."""


class Outside(Struct, frozen=True, kw_only=True):
    """What a crawl reaches the world with: a clock, a transport, a vault. In virtual time all three are simulated."""

    clock: Clock
    transport: Transport
    vault: Vault
    media: MediaTransport | None = None
    """Fetches pictures, for crawls that keep them."""
    messenger: Messenger | None = None
    """Tells somebody outside what happened, for crawls that wish it."""
    participation: Participation = Participation()
    glance: timedelta = timedelta(seconds=1)
    """How often a waiting loop looks up for what other processes did."""
    is_paced: bool = True
    """Whether calls are spread over the window of a limit, rather than made as soon as they may be."""
