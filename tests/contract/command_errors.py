"""Commands that are refused: exit code 2, an error with a code."""

from __future__ import annotations

from bowerbird.errors import BowerbirdError, Unreachable, UserError
from failures import command_error


def refused(*arguments: object, code: str) -> BowerbirdError:
    """Run a command line that must end with exit code 2 and this code, and return its error."""
    error = command_error(*arguments, code=code)
    # These and no others: cli.run makes exit code 2 of them.
    assert isinstance(error, UserError), type(error)
    assert not isinstance(error, Unreachable)
    return error
