"""Whom nobody is told of, as conditions in SQL on a row of `users`: the one place where that is said. Pure."""

from __future__ import annotations

_REASONS = "('not_found', 'suspended', 'deactivated')"
"""Of absences that the public sees: the profile is emptied. Protected accounts are there."""


def open_absence(row: str) -> str:
    """The absence, `a`, of an account that the public can no longer see."""
    return f"from unavailable a where a.user_no = {row}.user_no and a.until is null and a.reason in {_REASONS}"


def is_gone(row: str) -> str:
    """That the public can no longer see the account of a row; also of other tables that have a `user_no`."""
    return f"exists (select 1 {open_absence(row)})"


def may_be_told(row: str) -> str:
    """That an account is there, and did not ask to be left alone."""
    return f"coalesce({row}.opts_out, 0) = 0 and not {is_gone(row)}"


def is_hidden(row: str) -> str:
    """The opposite of `may_be_told`."""
    return f"(coalesce({row}.opts_out, 0) = 1 or {is_gone(row)})"
