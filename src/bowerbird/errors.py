"""Errors sorted by what the caller does next.

BowerbirdError
├── UserError            tell the user what to change; nothing is wrong with the program
│   ├── FlowError        a crawl or flow file says something that is not allowed; names the line
│   ├── CredentialError  a secret is missing, wrong or cannot be opened
│   └── StoreError       the database cannot be opened or is of another version
│       └── Unreachable  it does not answer: it may in a moment, without anybody's doing
├── Busy                 the database cannot do it now: wait and try the same again
├── Taken                another worker was faster: look again and choose anew
├── TooMuch              one answer of the database would not fit: ask for less at a time
├── DiskFull             nothing can be written: pause, keep what is settled, say so
└── Fenced               the lease is no longer ours: drop the answer

A deleted or private subject is an answer (`model.Outcome`), never an error.
"""


class BowerbirdError(Exception):
    """Something bowerbird raises on purpose."""


class UserError(BowerbirdError):
    """The message says what was being done, with which values, and what to do next."""


class FlowError(UserError):
    """A crawl or flow file says something that is not allowed."""

    def __init__(self, message: str, *, file: str = "", line: int | None = None) -> None:
        self.file = file
        self.line = line
        where = f"{file or 'flow'}:{line}: " if line else (f"{file}: " if file else "")
        super().__init__(where + message)


class CredentialError(UserError):
    """A secret is missing, wrong or cannot be opened."""


class StoreError(UserError):
    """The database cannot be opened or is of another version."""


class Unreachable(StoreError):
    """The database does not answer; whoever looks after the process may start it again."""


class Busy(BowerbirdError):
    """Our own database is held by others or does not answer; the same transaction may be tried again."""


class Taken(BowerbirdError):
    """What was chosen is no longer to be had, another worker has it; trying the same again is of no use."""


class TooMuch(BowerbirdError):
    """What was asked for is more than the database can put into one value; less of it may be asked for."""


class DiskFull(BowerbirdError):
    """The database could not write; nothing of the transaction happened."""


class Fenced(BowerbirdError):
    """The lease expired or was taken over; its answer must not be written."""
