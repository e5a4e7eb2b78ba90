"""What is particular to a network, and to one API of it, as plain data: everybody who must know it reads it here."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from bowerbird.model.kinds import PostKind
from bowerbird.model.networks.naming import Naming
from bowerbird.model.networks.shortcuts import Shortcuts


class KeyForm(StrEnum):
    """How the key that a service uses relates to the id that everybody uses."""

    PREFIXED = "prefixed"
    """The id is the network's name and the key."""
    SAME = "same"
    """The key is the id."""
    LOCAL = "local"
    """A key means something on its own server alone, so that the store must remember it; the id comes with the subject."""


class ShortForm(Struct, frozen=True):
    """Ids of posts that are made alike: a beginning, so many characters of the author's name, a middle, and the key."""

    mark: str
    """One character that stands for both constant parts in the store; no id of any network begins with it."""
    begins: str
    characters: int
    middle: str


class MediaForm(Struct, frozen=True):
    """Addresses of pictures and films that are made alike: a beginning, their author's name, `/`, their id, and an end."""

    mark: str
    """One character that stands for all but the name in the store; no address begins with it."""
    begins: str
    ends: str


class Network(Struct, frozen=True, kw_only=True):
    """The rules of a network, whichever of its APIs is asked."""

    name: str
    keys: KeyForm = KeyForm.PREFIXED
    has_witnesses: bool = False
    """Several services tell of the same account, and some know it better than others."""
    author_after: str = ""
    """What stands before the author's id in that of a post, so that a post shown under somebody else is forged; empty: ids name
    nobody."""
    tells_returns: bool = False
    """A stream says by itself that an account is back; elsewhere its profile, sent with a new post, is the sign."""
    edits_keep_ids: bool = True
    """An edited post stays the same post."""
    tells_edits: bool = True
    """A post without a time of editing is the first version, also outside streams."""
    counts_reposts: bool = True
    """The counter of posts on a profile surely counts reposts too."""
    reposts_name_the_way: bool = False
    """The text of a repost says through whom it came."""
    post_forms: tuple[str, str] | None = None
    """The id of a post and its address in a browser, where each follows from the other; `{author}` and `{key}` are the same."""
    short_forms: tuple[ShortForm, ...] = ()
    """What SQLite does not keep of every id; a new one takes a migration, because the columns of the store spell them out."""
    media_forms: tuple[MediaForm, ...] = ()
    """What SQLite does not keep of every address of media; a new one takes a migration as well."""
    not_askable: frozenset[PostKind] = frozenset({PostKind.COMMENT})
    """Kinds of posts that cannot be asked for by their id."""
    naming: Naming = Naming()


class Example(Struct, frozen=True, kw_only=True):
    """What to write into a first crawl file."""

    user: str
    post: str
    word: str = "#caturday"
    words_are: str = "words and hashtags"
    stream: str = ""
    """The lines of a `[[streams]]` table; empty where there are no streams."""


Fields = tuple[tuple[str, ...], ...]
"""Sets of secret fields that will do; the first is the one a person is asked for."""


class Traits(Struct, frozen=True, kw_only=True):
    """One API of a network: where it is, what opens it, and how one begins with it."""

    provider: str
    network: Network
    base: str
    """The usual address."""
    login: str = ""
    """Where one logs in, if not there."""
    servers: tuple[str, ...] = ()
    """The addresses of a network that has one API for everybody; empty where every server has its own secrets."""
    secrets: Mapping[str, Fields]
    """By kind of credential."""
    easiest_kind: str = "user"
    """The kind of credential that is had with the least."""
    credential_names: Mapping[str, str] = {}
    """By kind: what people call such a credential there, if not a token."""
    not_for_guests: frozenset[str] = frozenset()
    """Facets that are not answered without a credential, though most others are."""
    can_register: bool = False
    """Its servers register whoever asks, and give out a token for it."""
    has_one_home: bool = False
    """A credential belongs to the one server that its sessions are opened at."""
    example: Example
    shortcuts: Shortcuts = Shortcuts()
