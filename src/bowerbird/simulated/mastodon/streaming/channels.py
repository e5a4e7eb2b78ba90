"""The streams of a Mastodon server by their two names, and which posts each of them carries."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.wire import Params
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, Row
from bowerbird.simulated.world.posts.tags import tag_number

_PATHS = {
    "user": "user",
    "user/notification": "user:notification",
    "direct": "direct",
    "list": "list",
    "public": "public",
    "public/local": "public:local",
    "public/remote": "public:remote",
    "hashtag": "hashtag",
    "hashtag/local": "hashtag:local",
}
_PUBLIC = frozenset({"public", "public:local", "public:remote"})
_HASHTAG = frozenset({"hashtag", "hashtag:local"})
_OWN = frozenset({"user", "user:notification", "direct"})
_NAMES = _PUBLIC | {f"{name}:media" for name in _PUBLIC} | _HASHTAG | _OWN | {"list"}


class Channel(Struct, frozen=True):
    """One stream that somebody listens to, by its WebSocket name."""

    name: str
    subject: str = ""
    """The hashtag or list, where the stream is about one."""

    def shown(self) -> list[str]:
        """How messages name the stream they belong to."""
        return [self.name, self.subject] if self.subject else [self.name]


def at_path(path: str, params: Params) -> Channel | str:
    """The stream behind an SSE path such as `public/local`, or what is wrong with the request."""
    name = _PATHS.get(path)
    if name is None:
        return "Unknown channel requested"
    is_media = name in _PUBLIC and params.flag("only_media")
    return named(f"{name}:media" if is_media else name, params.get("tag"), params.get("list"))


def named(name: str, tag: str, list_key: str) -> Channel | str:
    """The stream of a WebSocket name, or what is wrong with it."""
    if name not in _NAMES:
        return "Unknown stream type"
    if name in _HASHTAG:
        return Channel(name, tag) if tag else "Missing tag name parameter"
    if name == "list":
        # A visitor's account has no lists: whichever he names is somebody else's.
        return "Not authorized to stream this list" if list_key else "Missing list name parameter"
    return Channel(name)


class Carrier:
    """Decides which posts a stream carries; the same that the public and hashtag timelines show."""

    def __init__(self, payloads: Payloads) -> None:
        self._vantage = payloads.vantage
        self._contents = payloads.world.contents

    def is_broadcast(self, row: Row, now: int) -> bool:
        """Only public posts that came to this server are streamed at all, and no boosts."""
        return row.kind != REPOST and self._contents.visibility(row.number) == "public" and self._vantage.holds(row, now)

    def carries(self, channel: Channel, row: Row, *, is_deletion: bool) -> bool:
        """Whether a post that is broadcast belongs there; of replies the public streams tell only the deletion."""
        name, _, rest = channel.name.partition(":")
        if name not in ("public", "hashtag") or not self._is_from(rest.removesuffix("media").rstrip(":"), row):
            return False
        if rest.endswith("media") and not self._contents.of(row).pictures:
            return False
        if name == "hashtag":
            if not self._vantage.flavour.live.tells_hashtags:
                return False
            return row.is_about(tag_number(channel.subject.removeprefix("#")))
        return is_deletion or row.kind != REPLY

    def _is_from(self, scope: str, row: Row) -> bool:
        return scope in ("", "local" if self._vantage.is_local(row.author) else "remote")
