"""What goes wrong between a coordinator and its workers: each kind is an HTTP status there and an error here."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.errors import BowerbirdError, Busy, DiskFull, Fenced, UserError

FENCED, BUSY, FULL, LARGE, REFUSED, FAULT = "fenced", "busy", "full", "large", "refused", "fault"


class Problem(Struct, frozen=True):
    """Why a request was not granted."""

    kind: str
    why: str


class Fault(Exception):
    """The coordinator's own code failed on one call; the worker drops that call and goes on."""


class Large(Exception):
    """More was sent than is taken at once; the worker sends less, and drops a call whose answer alone is too much."""


PROBLEMS: dict[str, tuple[int, type[Exception]]] = {
    FENCED: (409, Fenced),
    BUSY: (503, Busy),
    FULL: (507, DiskFull),
    LARGE: (413, Large),
    REFUSED: (400, UserError),
    FAULT: (500, Fault),
}
"""By kind: the status it is answered with, and what the worker's side raises. Only `UserError` ends a worker."""


def problem_of(error: Exception) -> Problem:
    """An error of the coordinator's side as its worker hears of it."""
    for kind, (_, raised) in PROBLEMS.items():
        if isinstance(error, raised):
            return Problem(kind, str(error))
    if isinstance(error, BowerbirdError):
        return Problem(BUSY, str(error))
    return Problem(FAULT, f"{type(error).__name__}: {error}")


def error_of(problem: Problem) -> Exception:
    """The same on the worker's side."""
    raised = PROBLEMS.get(problem.kind, PROBLEMS[FAULT])[1]
    return raised(problem.why)
