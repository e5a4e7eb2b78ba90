"""What a person may ask of a stream, checked before a service is bothered with it."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping, Sequence

from bowerbird.errors import UserError
from bowerbird.model import Subscription, to_micros
from bowerbird.providers.bluesky.streams.channels import CHANNELS, FIREHOSE, MAPPED
from bowerbird.providers.bluesky.streams.compression import is_dictionary
from bowerbird.providers.bluesky.syntax import is_did, is_nsid
from bowerbird.providers.text import iso

_MOST_COLLECTIONS, _MOST_DIDS = 100, 10_000
_LARGEST_MESSAGE = 2**32 - 1
KINDS = ("commit", "identity", "account", "sync")
NOW, OLDEST = "now", "oldest"

Values = tuple[str, ...]


def subscription(channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
    """The subscription meant; raises `UserError` for what the service would refuse or never answer."""
    if channel not in CHANNELS:
        raise UserError(f"bluesky has no stream {channel!r}", f"write one of {', '.join(CHANNELS)}", code="unknown_name")
    known = CHANNELS[channel].options
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UserError(f"stream {channel} has no option {unknown[0]!r}", f"it has {', '.join(known)}", code="unknown_name")
    checked = {name: _CHECKS[name](channel, tuple(dict.fromkeys(values))) for name, values in options.items() if values}
    if "collections" in checked and "commit" not in checked.get("kinds", KINDS):
        raise UserError(
            f"stream {channel}: collections says which commits to hear, and kinds leaves them out",
            "drop one of them",
            code="conflicting_options",
        )
    return Subscription(channel=channel, options=checked)


def collections(wanted: Subscription) -> Values:
    """The collections to ask for; none when commits are not wanted at all."""
    if "commit" not in wanted.options.get("kinds", KINDS):
        return ()
    return wanted.options.get("collections", MAPPED)


def is_compressed(wanted: Subscription) -> bool:
    return wanted.options.get("compress") == ("true",)


def chosen(wanted: Subscription, name: str) -> str:
    """The one value of an option; empty when nothing was said."""
    return next(iter(wanted.options.get(name, ())), "")


def _collections(channel: str, values: Values) -> Values:
    for value in values:
        # The head of a pattern need not be a whole NSID: `app.bsky.*` is the usual one.
        if not is_nsid(value) and not (value.endswith(".*") and is_nsid(f"{value[:-2]}.any.thing")):
            raise UserError(f"stream {channel}: {value!r} is no collection", "write an NSID (app.bsky.feed.post) or a prefix.*")
    return _at_most(_MOST_COLLECTIONS, "collections", channel, values)


def _dids(channel: str, values: Values) -> Values:
    for value in values:
        if not is_did(value):
            raise UserError(
                f"stream {channel}: {value!r} is no DID", "write did:plc:… (the facet `profile` tells it for a handle)"
            )
    return values if channel == FIREHOSE else _at_most(_MOST_DIDS, "dids", channel, values)


def _kinds(channel: str, values: Values) -> Values:
    for value in values:
        if value not in KINDS:
            raise UserError(
                f"stream {channel}: there is no kind {value!r}", f"write some of {', '.join(KINDS)}", code="unknown_name"
            )
    return values


def _size(channel: str, values: Values) -> Values:
    value = _single(channel, "max_message_size", values)
    if not (value.isascii() and value.isdigit() and len(value) <= 10 and 0 < int(value) <= _LARGEST_MESSAGE):
        raise UserError(f"stream {channel}: max_message_size is {value!r}", "write a number of bytes")
    return values


def _compress(channel: str, values: Values) -> Values:
    value = _single(channel, "compress", values).casefold()
    if value not in ("true", "false"):
        raise UserError(f"stream {channel}: compress is {value!r}", "write true or false")
    return (value,)


def _dictionary(channel: str, values: Values) -> Values:
    try:
        body = b64decode(_single(channel, "dictionary", values), validate=True)
    except NotBase64:
        body = b""
    if not is_dictionary(body):
        raise UserError(f"stream {channel}: dictionary is no zstd dictionary", "write the content of its file in base64")
    return values


def _start(channel: str, values: Values) -> Values:
    value = _single(channel, "start", values)
    if value in (NOW, OLDEST):
        return values
    when = iso(value) if channel != FIREHOSE else None
    if when is None:
        ways = "now or oldest" if channel == FIREHOSE else "now, oldest or a time such as 2026-11-15T00:00:00Z"
        raise UserError(f"stream {channel}: start is {value!r}", f"write {ways}")
    return (str(to_micros(when)),)


def _single(channel: str, name: str, values: Values) -> str:
    if len(values) != 1:
        raise UserError(f"stream {channel}: {name} has {len(values)} values", "write one", code="too_many")
    return values[0]


def _at_most(most: int, name: str, channel: str, values: Values) -> Values:
    if len(values) > most:
        raise UserError(
            f"stream {channel}: {len(values)} {name} are more than the {most} it takes",
            "split them over several streams",
            code="too_many",
        )
    return values


_CHECKS: Mapping[str, Callable[[str, Values], Values]] = {
    "collections": _collections,
    "dids": _dids,
    "kinds": _kinds,
    "max_message_size": _size,
    "compress": _compress,
    "dictionary": _dictionary,
    "start": _start,
}
