"""Which of two that do not understand each other is to be upgraded. Pure."""

from __future__ import annotations

from bowerbird.remote.wire import OLDEST, VERSION_HEADER, WIRE


def misunderstanding(said: str) -> str:
    """What to tell a worker that speaks this version of the wire; empty: it is understood."""
    if not said.isdecimal():
        return f"the header {VERSION_HEADER} is missing: this is no worker of bowerbird; send {VERSION_HEADER}: {WIRE}"
    theirs = int(said)
    if theirs > WIRE:
        return (
            f"this worker speaks version {theirs} of the wire, the coordinator up to {WIRE}: upgrade bowerbird on the "
            "coordinator first, or use an older one here"
        )
    if theirs < OLDEST:
        return f"this worker speaks version {theirs} of the wire, the coordinator {OLDEST} to {WIRE}: upgrade bowerbird on it"
    return ""
