"""What a status means that the service does not explain. Pure."""

from __future__ import annotations

from bowerbird.model import Outcome


def unexplained(status: int) -> Outcome:
    """A server's own trouble, somebody else's answer, or our fault. Redirects are not followed: one comes from a proxy, or from a
    server that is not where it was, and says nothing of what was asked."""
    if status >= 500:
        return Outcome.OVERLOADED
    return Outcome.UNREADABLE if 300 <= status < 400 else Outcome.BAD_REQUEST
