"""What one worker alone may do, until a time."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Claim(Struct, frozen=True):
    """One worker's right to a stream, a file, a backup or a module; `token` is new with each claim that is given."""

    name: str
    worker: int
    token: int
    until: datetime
