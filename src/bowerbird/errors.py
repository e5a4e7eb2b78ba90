"""Errors, by what the caller does next.

BowerbirdError
├── UserError            show it to the user, who can change something; the program is not at fault
│   ├── FlowError        a crawl or flow file is invalid; names the line
│   ├── CredentialError  a secret is missing, wrong or cannot be decrypted
│   └── StoreError       the database cannot be opened or has another version
│       └── Unreachable  the database does not answer; it may answer later
├── Busy                 the database is locked or restarting: wait and repeat the transaction
├── Taken                another worker was faster: choose again
├── TooMuch              a result does not fit into one value: request less at a time
├── DiskFull             nothing can be written: pause, keep what is committed, report it
└── Fenced               the lease expired or was taken over: discard the response

Every error has three fields. `code` is stable: scripts and tests compare it. `problem` says what is
wrong, with the value that caused it. `advice` says what to do; it may be empty. A failure that
outlives its process is stored as a `Failure`, with the same three fields. Code never splits a
problem or an advice.

A deleted or private account is a result (`model.Outcome`), never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self

import msgspec

_CONTROLS = dict.fromkeys((*range(32), 127), " ")
_SENTENCE_ENDS = (".", "?", "!", "\n")


class Failure(msgspec.Struct, frozen=True):
    """What is wrong and what to do about it, as it is stored and shown."""

    code: str
    problem: str
    advice: str = ""

    def __str__(self) -> str:
        """Return the problem, followed by the advice."""
        if not self.problem or not self.advice:
            return self.problem or self.advice
        # A problem that is not a whole sentence has no full stop.
        joint = " " if self.problem.endswith(_SENTENCE_ENDS) else "; "
        return f"{self.problem}{joint}{self.advice}"

    def within(self, problem: str) -> Failure:
        """Return the same failure with a longer problem, which names where it occurred."""
        return Failure(self.code, problem, self.advice)

    def clipped(self, length: int) -> Failure:
        """Return the failure with a problem and an advice of at most `length` characters each."""
        return Failure(self.code, self.problem[:length], self.advice[:length])

    def to_json(self) -> str:
        """Return the text that is stored. Names in it are found by searching the text: a control
        character becomes a space, because its escape sequence would become part of the word."""
        plain = Failure(self.code, _without_controls(self.problem), _without_controls(self.advice))
        return msgspec.json.encode(plain).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)


def _without_controls(text: str) -> str:
    # A file name that is not UTF-8 has surrogates, which JSON cannot contain.
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode()


def joined(failures: Iterable[Failure]) -> Failure | None:
    """Return several failures as one: the code of the first, then each problem with its advice.

    The advice of a single failure stays separate. None without any.
    """
    several = list(failures)
    if len(several) <= 1:
        return several[0] if several else None
    return Failure(several[0].code, "; ".join(str(each) for each in several))


def stored_failure(text: str | None) -> Failure | None:
    """Return the failure of a column that may be null."""
    if text is None:
        return None
    try:
        return Failure.from_json(text)
    except msgspec.DecodeError:
        # Removing the name of a forgotten person may have cut the text.
        return Failure("unknown", text)


def failure_of(error: Exception) -> Failure:
    """Return what to store of any error; one that is not ours is unexpected."""
    if isinstance(error, BowerbirdError):
        return error.failure
    return Failure("unexpected", str(error) or type(error).__name__)


class BowerbirdError(Exception):
    """An error that bowerbird raises on purpose."""

    default_code: ClassVar[str] = "failed"

    def __init__(self, problem: str, advice: str = "", *, code: str = "") -> None:
        super().__init__(problem, advice, code)
        self.failure = Failure(code or self.default_code, problem, advice)

    @property
    def code(self) -> str:
        return self.failure.code

    @property
    def problem(self) -> str:
        return self.failure.problem

    @property
    def advice(self) -> str:
        return self.failure.advice

    def __str__(self) -> str:
        return str(self.failure)

    def __reduce__(self) -> tuple[Callable[..., BowerbirdError], tuple[Any, ...]]:
        # Rehearsals run in processes of their own: what they raise is pickled.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[BowerbirdError], args: tuple[Any, ...], state: Mapping[str, Any]
) -> BowerbirdError:
    """Return a pickled error without its constructor, which takes other arguments in subclasses."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class UserError(BowerbirdError):
    """The user can correct it: the problem names the values, the advice says what to change."""

    default_code = "invalid"


class FlowError(UserError):
    """A crawl or flow file is invalid. The problem begins with the file and the line."""

    default_code = "invalid_file"

    def __init__(
        self,
        problem: str,
        advice: str = "",
        *,
        code: str = "",
        file: str = "",
        line: int | None = None,
    ) -> None:
        self.file = file
        self.line = line
        where = f"{file or 'flow'}:{line}: " if line else (f"{file}: " if file else "")
        super().__init__(where + problem, advice, code=code)


class CredentialError(UserError):
    """A secret is missing, wrong or cannot be decrypted."""

    default_code = "invalid_credential"


class StoreError(UserError):
    """The database cannot be opened or has another version."""

    default_code = "database_failed"


class Unreachable(StoreError):
    """The database does not answer. The service manager may restart the process."""

    default_code = "database_unreachable"


class Busy(BowerbirdError):
    """The database is locked or does not answer. Repeat the same transaction."""

    default_code = "database_busy"


class Taken(BowerbirdError):
    """Another worker took what was chosen. Repeating the same transaction is of no use."""

    default_code = "taken"


class TooMuch(BowerbirdError):
    """The result is larger than the database can put into one value. Request less of it."""

    default_code = "result_too_large"


class DiskFull(BowerbirdError):
    """The database could not write. The transaction had no effect."""

    default_code = "disk_full"


class Fenced(BowerbirdError):
    """The lease expired or was taken over. Its response must not be stored."""

    default_code = "lease_lost"
