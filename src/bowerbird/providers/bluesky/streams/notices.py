"""What a service says about the stream itself, in words that both framings share."""

from __future__ import annotations

from bowerbird.model import NoticeKind, Outcome, Subject
from bowerbird.providers.bluesky.streams.compression import WrongDictionary
from bowerbird.providers.bluesky.streams.telling import Telling

_OUTDATED = "OutdatedCursor"
_ERRORS = {
    "FutureCursor": (NoticeKind.FUTURE, Outcome.BAD_REQUEST),
    "ConsumerTooSlow": (NoticeKind.SLOW, Outcome.OVERLOADED),
}


def informed(told: Telling, name: str, message: str | None, is_resumed: bool) -> None:
    """An advisory notice. Who asked for the oldest event there is has missed none: that cursor is outdated on purpose."""
    if name in _ERRORS:
        # Jetstream goes on from its present when the cursor lies ahead of it: what is between would be lost unsaid.
        closed(told, name, message)
    elif is_resumed or name != _OUTDATED:
        told.notice(NoticeKind.OUTDATED if name == _OUTDATED else NoticeKind.OTHER, name, message)


def closed(told: Telling, name: str, message: str | None) -> None:
    """An error after which the service closes the connection."""
    kind, told.closing = _ERRORS.get(name, (NoticeKind.CLOSING, Outcome.OVERLOADED))
    told.notice(kind, name or "error", message)


def unread(told: Telling, message: bytes, error: Exception) -> None:
    """A message that cannot be read is quarantined alone, unless none of the connection can be."""
    told.events += 1
    told.broken(Subject.POST, message, error)
    if isinstance(error, WrongDictionary):
        told.closing = Outcome.BAD_REQUEST
        told.notice(
            NoticeKind.CLOSING, str(error), "give the right one as `dictionary`, or listen uncompressed or to jetstream_v2"
        )
