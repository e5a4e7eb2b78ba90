"""The `[[streams]]` of a crawl file: which channels the crawl listens to, where, and as whom.

[[streams]]
channel = "jetstream"
base = "wss://jetstream2.us-east.bsky.network"
collections = ["app.bsky.feed.post"]
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct, structs

from bowerbird.errors import FlowError, UserError
from bowerbird.flows.flow import Vocabulary
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.language.tables import Table
from bowerbird.model import Service, Subscription

OWN_KEYS = ("name", "channel", "service", "base", "credential")
_SCHEMES = {"ws": "http", "wss": "https", "http": "http", "https": "https"}


class StreamPlan(Struct, frozen=True, kw_only=True):
    """One subscription of the crawl: whose items it brings, and where the connection goes."""

    subscription: Subscription
    service: Service
    host: Service
    """The service as the connection reaches it: many networks stream from another host than they answer from."""
    credential: str = ""
    """A name in the vault; empty: the first that fits, or none."""
    is_tuned: bool = False
    """It hears the keywords of the crawl, which change while it runs."""


def stream_plans(table: Table, services: Sequence[Service], vocabulary: Vocabulary) -> tuple[StreamPlan, ...]:
    """The streams a crawl file names; raises `FlowError` naming the line."""
    tables = table.tables("streams")
    plans = tuple(_plan(inner, services, vocabulary) for inner in tables)
    names = [plan.subscription.name for plan in plans]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise tables[number].wrong(
                "name", f"two streams are called {name!r}", 'give each its own: name = "…"', code="already_exists"
            )
    return plans


def _plan(table: Table, services: Sequence[Service], vocabulary: Vocabulary) -> StreamPlan:
    service = _service(table, services)
    subscription = _subscription(table, service.provider, vocabulary)
    return StreamPlan(
        subscription=structs.replace(subscription, name=table.text("name", subscription.channel)),
        service=service,
        host=structs.replace(service, base=_base(table, service.base)),
        credential=table.text("credential"),
    )


def _service(table: Table, services: Sequence[Service]) -> Service:
    names = [service.name for service in services]
    name = table.text("service", names[0])
    if name not in names:
        raise table.wrong(
            "service",
            f"there is no service {name!r}{meant(name, names)}",
            f"the file names: {listed(names)}",
            code="unknown_name",
        )
    return services[names.index(name)]


def _subscription(table: Table, provider: str, vocabulary: Vocabulary) -> Subscription:
    channels = vocabulary.channels.get(provider, {})
    if not channels:
        raise table.wrong(None, f"{provider} has no streams", "take [[streams]] out", code="unsupported")
    channel = table.required("channel", f'channel = "{next(iter(channels))}"')
    if channel not in channels:
        raise table.wrong(
            "channel",
            f"{provider} has no channel {channel!r}{meant(channel, channels)}",
            f"it has: {listed(channels)}",
            code="unknown_name",
        )
    table.only([*OWN_KEYS, *channels[channel].options], f"a stream of {channel!r}")
    options = {key: _values(table, key) for key in table.values if key not in OWN_KEYS}
    for needed in sorted(channels[channel].needs - options.keys()):
        raise table.wrong(
            None, f"the channel {channel!r} needs {needed} ({channels[channel].options[needed]})", code="missing_value"
        )
    try:
        return vocabulary.subscribe(provider, channel, options)
    except FlowError:
        raise
    except UserError as error:
        raise table.failed(None, error) from None


def _values(table: Table, key: str) -> tuple[str, ...]:
    """An option's values as texts: one or a list of texts, numbers or truth values."""
    value = table.values[key]
    members = value if isinstance(value, list) else [value]
    for member in members:
        if not isinstance(member, (str, int, float, bool)):
            raise table.wrong(key, f"{key} must be texts, numbers, true or false, not {member!r:.60}")
    return tuple(str(member).lower() if isinstance(member, bool) else str(member) for member in members)


def _base(table: Table, default: str) -> str:
    base = table.text("base", default)
    parts = urlsplit(base)
    if parts.scheme not in _SCHEMES or not parts.netloc:
        raise table.wrong(
            "base",
            f"base {base!r} is not an address of a stream",
            'write for example "wss://jetstream.example.org"',
            code="invalid_address",
        )
    if parts.username or parts.password:
        raise table.wrong(
            "base",
            "base must not contain a password",
            "secrets belong into the vault: `bowerbird credentials -h`",
            code="insecure_address",
        )
    if parts.path.strip("/") or parts.query or parts.fragment:
        root = f"{parts.scheme}://{parts.netloc}"
        raise table.wrong(
            "base",
            f"base {base!r:.80} is no address of a server, but of something on it",
            f'write base = "{root}"',
            code="invalid_address",
        )
    return parts._replace(scheme=_SCHEMES[parts.scheme]).geturl().rstrip("/")
