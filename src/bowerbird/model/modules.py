"""Modules as crawl files know them: what each does, how often, and which options it has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any

from msgspec import Struct

OptionValue = bool | int | float | str | timedelta | tuple[str, ...]


class ModuleOption(Struct, frozen=True):
    """One option of a module; what kind of value it takes is told by what holds without it."""

    default: OptionValue
    about: str
    least: float = 0
    """Of numbers."""
    words: tuple[str, ...] = ()
    """The only texts that are allowed, where there are such."""


class ModuleWords(Struct, frozen=True, kw_only=True):
    """What a crawl file must know of a module."""

    about: str
    """In one sentence what it does."""
    every: timedelta
    options: Mapping[str, ModuleOption] = {}
    needs: tuple[str, ...] = ()
    """Facets that it asks: the flow must have one of them."""


Modules = Mapping[str, ModuleWords]
Counts = Mapping[str, Any]
"""What a run did, in numbers by name; it must fit into JSON."""


class CandidateState(StrEnum):
    """How far it is with an account that may belong."""

    NAMED = "named"
    ASKED = "asked"
    """Its profile is asked for."""
    VALID = "valid"
    INVALID = "invalid"


class CandidateSource(StrEnum):
    """Who named an account first."""

    MEMBER = "member"
    """Itself: it belongs, by judgement or as a seed."""
    MENTIONS = "mentions"
    NEIGHBOURS = "neighbours"
    PERSON = "person"
