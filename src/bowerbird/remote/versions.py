"""Which of two that do not understand each other is to be upgraded. Pure."""

from __future__ import annotations

from bowerbird.errors import Failure
from bowerbird.remote.wire import OLDEST, VERSION_HEADER, WIRE


def misunderstanding(said: str) -> Failure | None:
    """What to tell a worker that speaks this version of the wire; None: it is understood."""
    if not said.isdecimal():
        problem = f"the header {VERSION_HEADER} is missing: this is no worker of bowerbird"
        return Failure("missing_header", problem, f"send {VERSION_HEADER}: {WIRE}")
    theirs = int(said)
    if theirs > WIRE:
        return Failure(
            "wrong_version",
            f"this worker speaks version {theirs} of the wire, the coordinator up to {WIRE}",
            "upgrade bowerbird on the coordinator first, or use an older one here",
        )
    if theirs < OLDEST:
        problem = f"this worker speaks version {theirs} of the wire, the coordinator {OLDEST} to {WIRE}"
        return Failure("wrong_version", problem, "upgrade bowerbird on it")
    return None
