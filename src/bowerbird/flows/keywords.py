"""`[keywords]` of a flow: how an event's keywords are found, and what holds for all methods that find them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.language.tables import Table
from bowerbird.model.subjects.keywords import MethodOption, Methods

WAYS = ("stream", "search")
BACKGROUND = "public"
"""The facet that shows what everybody writes, where no stream does; keywords alone lead to it."""
KEYWORD_KEYS = (
    "methods",
    "frame",
    "slots",
    "most",
    "min_frequency",
    "quiet_frames",
    "lose_seeds",
    "blacklist",
    "volume",
    "probes",
    "by",
)
_SHORTEST, _LONGEST = timedelta(seconds=10), timedelta(days=1)


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of a crawl that apply to every method."""

    frame: timedelta = timedelta(minutes=5)
    """Methods decide at the end of each frame."""
    slots: int = 10
    """Parts of a frame in which traffic is counted."""
    max_keywords: int = 400
    """Keywords at once, seeds included: what a network accepts in one subscription."""
    min_posts: int = 3
    """Posts of a frame in which a term must occur to become a candidate."""
    quiet_frames: int = 12
    """A keyword leaves after this many frames in a row with fewer than `min_posts` posts each."""
    may_drop_seeds: bool = False
    """Whether the rule for quiet keywords applies to seeds."""
    blacklist: tuple[str, ...] = ()
    """Terms in normal form that never become keywords."""


class KeywordUse(Settings, frozen=True, kw_only=True):
    """How a flow adapts its keywords, which begin as its seeds."""

    max_keywords: int = 0
    """Of each method; 0: as many as the network usually takes."""
    methods: tuple[str, ...] = ("burst",)
    """Each has a set of keywords of its own; what any of them wants is collected."""
    options: dict[str, dict[str, Any]] = {}
    """By method: those of its own."""
    volume: int | None = None
    """Posts that a stream brings in a minute at most; None: as the network has it."""
    probes: int | None = None
    """Searches in each frame that test candidates; None: 20, or 2 where they cost money."""
    by: str = ""
    """One of `WAYS`; empty: by a stream where the network has one."""


def keyword_use(table: Table, methods: Methods) -> KeywordUse | None:
    """The `[keywords]` of a flow, if it has one; raises `FlowError` naming the line. `methods`: names and options of each, where
    they are known."""
    if "keywords" not in table.values:
        return None
    inner = table.table("keywords")
    inner.only((*KEYWORD_KEYS, *methods), "[keywords]")
    usual = KeywordUse()
    return KeywordUse(
        methods=_methods(inner, methods) or usual.methods,
        options={name: _options(inner, name, known) for name, known in methods.items() if name in inner.values},
        frame=_frame(inner, usual.frame),
        slots=_slots(inner, usual.slots),
        max_keywords=inner.count("most") or usual.max_keywords,
        min_posts=inner.count("min_frequency") or usual.min_posts,
        quiet_frames=inner.count("quiet_frames") or usual.quiet_frames,
        may_drop_seeds=inner.truth("lose_seeds", False),
        blacklist=inner.texts("blacklist"),
        volume=inner.count("volume"),
        probes=0 if inner.values.get("probes") == 0 else inner.count("probes"),
        by=_by(inner),
    )


def _methods(table: Table, known: Methods) -> tuple[str, ...]:
    named = table.texts("methods")
    if "methods" in table.values and not named:
        raise table.wrong(
            "methods",
            "methods names none: without one no keyword ever changes",
            f"allowed: {listed(known)}",
            code="missing_value",
        )
    for name in named:
        if name not in known:
            raise table.wrong(
                "methods", f"unknown method {name!r}{meant(name, known)}", f"allowed: {listed(known)}", code="unknown_name"
            )
        if named.count(name) > 1:
            raise table.wrong(
                "methods", f"the method {name!r} is there twice; each has one set of keywords", code="already_exists"
            )
    return named


def _options(table: Table, name: str, known: Mapping[str, MethodOption]) -> dict[str, Any]:
    inner = table.table(name)
    inner.only(known, f"[keywords.{name}]")
    for option, value in inner.values.items():
        if problem := known[option].problem(value):
            raise inner.wrong(option, f"{option} {problem}")
    return dict(inner.values)


def _frame(table: Table, usual: timedelta) -> timedelta:
    frame = table.span("frame") or usual
    if not _SHORTEST <= frame <= _LONGEST:
        raise table.wrong("frame", 'frame must be between "10s" and "1d"')
    return frame


def _slots(table: Table, usual: int) -> int:
    slots = table.count("slots") or usual
    if not 3 <= slots <= 60:
        raise table.wrong("slots", f"slots must be between 3 and 60, not {slots}: fewer tell no pattern, more are mostly empty")
    return slots


def _by(table: Table) -> str:
    by = table.text("by")
    if by and by not in WAYS:
        raise table.wrong("by", f"unknown way {by!r}{meant(by, WAYS)}", f"allowed: {listed(WAYS)}", code="unknown_name")
    return by
