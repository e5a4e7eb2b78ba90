"""What is listened to, how it is disturbed, and how long that takes."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct


class Scene(Struct, frozen=True, kw_only=True):
    """One channel of one simulated network."""

    name: str
    dialect: str
    options: str
    """The rest of its `[[streams]]` table."""
    has_cursor: bool
    token: str = "user"  # noqa: S105  a kind of token
    tells_changes: bool = True
    """Deletions and account events come in band; X tells none."""
    most_cuts: int = 25
    """In one round, which must be over before the world is a day ahead of our clock: a stream takes no event of later for its
    newest. And X allows 50 connections in a quarter of an hour, failed ones included; we keep to that."""
    late: timedelta = timedelta(0)
    """How long after it was written a post may be told, in the world's time."""


_RULES = 'rules = ["the OR and OR we OR you", "que OR uma OR con OR para", "dass OR eine OR mit OR che"]'

SCENES = (
    Scene(name="jetstream", dialect="bluesky", options='channel = "jetstream"', has_cursor=True),
    Scene(name="jetstream_zstd", dialect="bluesky", options='channel = "jetstream"\ncompress = true', has_cursor=True),
    Scene(name="jetstream_v2", dialect="bluesky", options='channel = "jetstream_v2"', has_cursor=True),
    Scene(name="firehose", dialect="bluesky", options='channel = "firehose"', has_cursor=True),
    Scene(name="mastodon_websocket", dialect="mastodon", options='channel = "public"', has_cursor=False),
    Scene(name="mastodon_events", dialect="mastodon", options='channel = "public_events"', has_cursor=False),
    Scene(
        name="x_filter",
        dialect="x",
        options=f'channel = "filter"\n{_RULES}',
        has_cursor=False,
        token="app",  # noqa: S106
        tells_changes=False,
        late=timedelta(seconds=8),
    ),
    Scene(
        name="x_sample",
        dialect="x",
        options='channel = "sample"',
        has_cursor=False,
        token="app",  # noqa: S106
        tells_changes=False,
        late=timedelta(seconds=8),
    ),
)
