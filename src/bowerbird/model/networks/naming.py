"""How a network names people and posts in texts and addresses: who is forgotten, left alone or renamed is found by it."""

from __future__ import annotations

from msgspec import Struct


class PageForm(Struct, frozen=True, kw_only=True):
    """Addresses that lead to an account, or to a post of it."""

    pattern: str
    """A regular expression from the beginning of an address without its query; with the group `post` it leads to a post."""
    users: tuple[str, ...] = ()
    """Ids of the account, made of the groups of the pattern; one of a group that was not found does not count."""
    handles: tuple[str, ...] = ()
    posts: tuple[str, ...] = ()
    """Ids of the post, made likewise."""
    is_anywhere: bool = False
    """Whatever the host: asked after those that name theirs."""


class Naming(Struct, frozen=True, kw_only=True):
    """Nothing but handles with a sign and ids, unless said otherwise."""

    pages: tuple[PageForm, ...] = ()
    """The first that an address fits."""
    profile: str = ""
    """The address of whoever bears a handle, on a network whose handles do not say of which network they are."""
    profile_hosts: tuple[str, ...] = ()
    """Hosts whose addresses name an account right after the host."""
    profile_paths: tuple[str, ...] = ()
    """What stands before the name of an account in an address, whatever the host."""
    has_domain_handles: bool = False
    """Handles are domain names."""
    handle_domains: tuple[str, ...] = ()
    """Domains that nearly everybody's handle ends with."""
    mention: str = ""
    """A regular expression: as far as the network itself reads a mention; empty: as far as a handle can go."""
    user_mark: str = ""
    """How ids of accounts begin that no other network has."""
    user_id: str = ""
    """A regular expression for such an id, wherever it stands."""
