"""Bluesky's streams: Jetstream in both its wires, and the firehose it is made of. Pure."""

from __future__ import annotations

from bowerbird.model import Opening, Subscription
from bowerbird.providers.base import StreamReader
from bowerbird.providers.bluesky.streams.channels import CHANNELS, FIREHOSE, JETSTREAM
from bowerbird.providers.bluesky.streams.firehose import FirehoseListener
from bowerbird.providers.bluesky.streams.jetstream import JetstreamListener
from bowerbird.providers.bluesky.streams.jetstream_v2 import JetstreamV2Listener
from bowerbird.providers.bluesky.streams.opening import opened, refused, retuned
from bowerbird.providers.bluesky.streams.positions import Now
from bowerbird.providers.bluesky.streams.subscriptions import subscription

__all__ = ["CHANNELS", "listener", "opened", "refused", "retuned", "subscription"]


def listener(wanted: Subscription, opening: Opening, cursor: str | None, now: Now = None) -> StreamReader:
    """Who understands the messages of the subscription's channel."""
    if wanted.channel == FIREHOSE:
        return FirehoseListener(wanted, cursor)
    if wanted.channel == JETSTREAM:
        return JetstreamListener(opening, cursor, now)
    return JetstreamV2Listener(opening, cursor, now)
