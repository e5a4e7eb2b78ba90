"""What goes wrong between a coordinator and its workers: each kind is an HTTP status there and an error here."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.errors import BowerbirdError, Busy, DiskFull, Failure, Fenced, UserError, failure_of

FENCED, BUSY, FULL, LARGE, REFUSED, FAULT = "fenced", "busy", "full", "large", "refused", "fault"


class Problem(Struct, frozen=True):
    """Why a request was not granted."""

    kind: str
    """What the worker does next."""
    code: str
    problem: str
    advice: str = ""

    @classmethod
    def of(cls, kind: str, failure: Failure) -> Problem:
        return cls(kind, failure.code, failure.problem, failure.advice)


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
            return Problem.of(kind, failure_of(error))
    if isinstance(error, BowerbirdError):
        return Problem.of(BUSY, error.failure)
    return Problem(FAULT, FAULT, f"{type(error).__name__}: {error}")


def error_of(problem: Problem) -> Exception:
    """The same on the worker's side."""
    raised = PROBLEMS.get(problem.kind, PROBLEMS[FAULT])[1]
    if issubclass(raised, BowerbirdError):
        return raised(problem.problem, problem.advice, code=problem.code)
    return raised(problem.problem)
