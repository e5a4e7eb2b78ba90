"""Exports without names: account ids, handles and post ids become keyed hashes, in texts and addresses too.

The same key gives the same pseudonym in every export, so that exports can be joined; without the key nobody can make a pseudonym
of a name. What people wrote stays, and whoever searches for the words may find the author: that is said in the documentation.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from bowerbird.db.files.private import write_private
from bowerbird.errors import UserError
from bowerbird.model import NETWORKS
from bowerbird.model.networks import USER_MARKS
from bowerbird.reports.blocks.block import Block, text
from bowerbird.reports.blocks.columns import Texts

_LENGTH = 20
_NAMING = [each.naming for each in NETWORKS.values()]
_NAME = r"(?P<name>[^\s/?#\"'<>]+)(?P<rest>[^\s\"'<>]*)"


def _any(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, texts))


# A mark at the end of an id belongs to the sentence.
_USER_ID = re.compile(f"(?:{'|'.join(each.user_id for each in _NAMING if each.user_id)})(?<=[A-Za-z0-9])")
_PROFILE = re.compile(
    rf"https?://[^\s/\"'<>]+/(?:{_any(('user/', *(path for each in _NAMING for path in each.profile_paths)))}){_NAME}"
)
_BARE_PROFILE = re.compile(rf"https?://(?:www\.)?(?:{_any(host for each in _NAMING for host in each.profile_hosts)})/{_NAME}")
# Anything but a Latin letter or a number may stand before a handle (`.@alice`, `//@alice:`, and many languages leave no blank);
# after those it is an e-mail address.
_MENTION = re.compile(r"(?<![A-Za-z0-9])[@\uff20](?P<name>[\w][\w.-]*(?:@[\w.-]+\w)?)")
_DOMAIN_HANDLE = re.compile(rf"\b[\w-]+(?:\.[\w-]+)*\.(?:{_any(domain for each in _NAMING for domain in each.handle_domains)})\b")

IDS = {
    "posts": ("author_id", "mentions"),
    "users": ("id",),
    "follows": ("source_id", "target_id"),
    "reactions": ("user_id",),
    "media": ("author_id",),
    "candidates": ("id",),
    "labels": ("id",),
}
HANDLES = {
    "posts": ("author_handle",),
    "users": ("handle",),
    "follows": ("source_handle", "target_handle"),
    "reactions": ("user_handle",),
    "media": ("author_handle",),
    "judgements": ("handle",),
    "candidates": ("handle",),
    "labels": ("handle",),
}
POST_IDS = {
    "posts": ("id", "reply_to", "repost_of", "quote_of", "root"),
    "reactions": ("post_id",),
    "media": ("post_id",),
}
TEXTS = {"posts": ("text", "warning", "links", "poll"), "users": ("description", "location"), "media": ("description",)}
LEFT_OUT = {
    "posts": ("url", "media"),
    "users": ("name", "url", "avatar"),
    "media": ("id", "url", "path", "sha256"),
    "judgements": ("evidence", "decided_by"),
    "calls": ("targets", "detail"),
    "labels": ("who",),
    "module_runs": ("counts", "error"),
}
"""What names somebody, or may, and cannot be told otherwise. A test holds all this against what rows say about people."""


class Pseudonyms:
    """Makes them with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.fingerprint = self._hash("fingerprint", "")[:8]
        """Which key it was, without telling it."""

    def of_id(self, known: str) -> str:
        return f"a{self._hash('id', known)}"

    def of_handle(self, handle: str) -> str:
        """Whatever its case."""
        return f"h{self._hash('handle', handle.removeprefix('@').lower())}"

    def of_post(self, known: str) -> str:
        return f"p{self._hash('post', known)}"

    def in_text(self, written: str) -> str:
        """A text in which accounts are named by pseudonyms: mentions, addresses of profiles and posts, ids."""
        told = _PROFILE.sub(self._address, written)
        told = _BARE_PROFILE.sub(self._address, told)
        told = _USER_ID.sub(lambda found: self.of_id(found[0]), told)
        told = _MENTION.sub(lambda found: f"@{self.of_handle(found['name'].rstrip('.'))}", told)
        return _DOMAIN_HANDLE.sub(lambda found: self.of_handle(found[0]), told)

    def change(self, what: str, block: Block) -> None:
        """The same for the rows of a block."""
        for names, made in ((IDS, self.of_id), (HANDLES, self.of_handle), (POST_IDS, self.of_post), (TEXTS, self.in_text)):
            for name in names.get(what, ()):
                block.change(name, _of_text(made))
        for name in LEFT_OUT.get(what, ()):
            block.columns[name] = Texts.unknown(block.rows)
        if what == "judgements":
            subjects = zip(block.values("subject"), block.values("id"), strict=True)
            block.columns["id"] = Texts.of([self._subject(*each) for each in subjects])

    def _subject(self, subject: Any, known: Any) -> str:
        return self.of_id(text(known)) if text(subject) == "user" else self.of_post(text(known))

    def _address(self, found: re.Match[str]) -> str:
        name = found["name"]
        if re.fullmatch("[ah][0-9a-f]{20}", name):
            return found[0]
        host = "/".join(found[0].split("/")[:3])
        return f"{host}/{self.of_id(name) if name.startswith(USER_MARKS) else self.of_handle(name)}"

    def _hash(self, kind: str, name: str) -> str:
        return hmac.new(self._key, f"{kind}:{name}".encode("utf-8", "replace"), sha256).hexdigest()[:_LENGTH]


def _of_text(made: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: made(text(value))


def read_key(path: Path) -> bytes:
    """The key in a file, which is made where there is none; only its owner may read it."""
    if not path.exists():
        write_private(path, secrets.token_hex(32).encode() + b"\n")
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise UserError(f"{path} holds no key for pseudonyms (64 hexadecimal digits): {error}", code="file_damaged") from error
    if len(key) < 16:
        raise UserError(f"the key in {path} is too short: 32 hexadecimal digits or more", code="file_damaged")
    return key
