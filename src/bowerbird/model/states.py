"""What things may be, one list for each: the words that stand in the store, and that every screen and page is told."""

from __future__ import annotations

from enum import StrEnum


class CrawlState(StrEnum):
    """What the processes of a crawl do; the first three are also what a user may want."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FINISHED = "finished"
    """There was nothing left to do, or a stop condition was met."""
    FAILED = "failed"

    @property
    def is_under_way(self) -> bool:
        """Whether a process works on it, unless it was killed."""
        return self in (CrawlState.RUNNING, CrawlState.PAUSED)


class ShownState(StrEnum):
    """A crawl as people are told of it: its own state, or what its row cannot say."""

    RUNNING = CrawlState.RUNNING
    PAUSED = CrawlState.PAUSED
    STOPPED = CrawlState.STOPPED
    FINISHED = CrawlState.FINISHED
    FAILED = CrawlState.FAILED
    STARTING = "starting"
    """A process is about to begin: the row tells of the run before."""
    CUT_OFF = "cut off"
    """Its processes are gone without a word."""
    GONE = "gone"
    """It is no longer in the store."""


class WorkerState(StrEnum):
    """Whether a worker works."""

    RUNNING = "running"
    DEAD = "dead"
    """It never said that it ends, and does not live."""
    ENDED = "ended"


class ServiceState(StrEnum):
    """How a service was when it was asked last."""

    OK = "ok"
    DOWN = "down"
    NOT_ASKED = "not asked"


class StudyState(StrEnum):
    """How far a study of words has come."""

    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


class TaskState(StrEnum):
    """Where a task is in its life."""

    WAITING = "waiting"
    LEASED = "leased"
    ASLEEP = "asleep"
    """Until its due time, or until an edge wakes it."""
    FAILED = "failed"
    """Given up; a new start is a new chance."""
    RETIRING = "retiring"
    """To be retired as soon as the call ends that asks about it."""
    RETIRED = "retired"
    """Taken out of its lane for good: asked again only when it is added anew."""


class CallState(StrEnum):
    """How far a call has come."""

    FLYING = "flying"
    """It was charged and may have been made."""
    SETTLED = "settled"
    LOST = "lost"
    """Its worker died with it: it counts as spent."""


class StreamState(StrEnum):
    """What the worker that holds a stream does with it."""

    IDLE = "idle"
    CONNECTING = "connecting"
    LIVE = "live"
    WAITING = "waiting"
    PAUSED = "paused"
    REFUSED = "refused"


class MediaState(StrEnum):
    """What became of a picture or film."""

    WAITING = "waiting"
    KEPT = "kept"
    GIVEN_UP = "given_up"
    DOUBTED = "doubted"
    """A post that showed it is gone: whether another one shows it is to be found out."""
    REMOVED = "removed"


class CredentialState(StrEnum):
    """What a service thinks of a credential."""

    GOOD = "good"
    REFUSED = "refused"


class PostFate(StrEnum):
    """What became of a stored post: only those that are kept have their content."""

    KEPT = "kept"
    OPTED_OUT = "opted_out"
    """Its author asked not to be collected."""
    DELETED = "deleted"
