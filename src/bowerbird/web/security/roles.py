"""What people may do."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct


class Role(IntEnum):
    """Each may do what those before it may."""

    READ = 1
    STEER = 2
    ADMIN = 3


class Person(Struct, frozen=True):
    """Who is asking."""

    name: str
    role: Role
