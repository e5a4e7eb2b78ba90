"""What one-line commands must know of a network: how its things are recognised, and how its usual questions are put."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Hearing(Struct, frozen=True, kw_only=True):
    """How words, hashtags and accounts are heard on a stream."""

    channel: str
    base: str = ""
    """Where it is heard, if not at the usual address of the API."""
    words: str = ""
    """The option that takes words and hashtags; empty: everything is heard, and what is wanted is chosen from it here."""
    accounts: str = ""
    """The option that takes accounts; empty: there is none."""
    account_form: str = "{}"
    only_tags: bool = False
    """Whether it is for hashtags alone."""
    options: Mapping[str, tuple[str, ...]] = {}


class Shortcuts(Struct, frozen=True, kw_only=True):
    """Nothing, unless said otherwise."""

    pages: tuple[str, ...] = ()
    """Hosts whose pages show its accounts and posts to people."""
    marks: tuple[str, ...] = ()
    """How ids begin that no other network has."""
    trends: str = ""
    """What the facet `trends` is asked about; empty: there are none."""
    has_roots: bool = False
    """A conversation is asked for by the post that opened it."""
    shows_itself: bool = False
    """A thread shows the post itself that it was asked for by, also one whose author is named by handle."""
    since: Mapping[str, str] = {}
    """By facet, the hint that takes a time from which on posts are listed."""
    until: Mapping[str, str] = {}
    language: Mapping[str, str] = {}
    """By facet, the hint that takes a language."""
    language_form: str = ""
    """What a query says to have one language only."""
    hearings: tuple[Hearing, ...] = ()
    """The first that can take what is to be heard."""
