"""The encrypted file that holds credentials and their secrets.

The file is one JSON object: how its key is made (scrypt from a password, or the key file beside it), a nonce, and the sealed
content (AES-256-GCM; the description of the key is authenticated with it). Who has the file without the key learns its size only.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from msgspec import structs

from bowerbird.errors import CredentialError
from bowerbird.limits.safe_files import is_private, locked, write_private
from bowerbird.model import Credential, Secret

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_KEY_LENGTH = 32
_NONCE_LENGTH = 12
SCRYPT_COST = 2**15
"""With r = 8 and p = 3: 32 MB and about a third of a second for each guess at a password."""
_MOST_SCRYPT_COST = 2**20
"""A file that asks for more is not ours: it would only eat our memory."""


class _Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the key is made: `password` (scrypt with salt and cost) or `file`."""

    made_from: str
    salt: bytes = b""
    cost: int = SCRYPT_COST


class _Sealed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    key: _Key
    nonce: bytes
    content: bytes


class _Entry(msgspec.Struct, frozen=True):
    credential: Credential
    values: dict[str, str]

    def __repr__(self) -> str:
        return f"_Entry({self.credential.name!r}, …)"


_FORMAT = "bowerbird vault 1"
_Entries = dict[str, _Entry]


class FileVault:
    """Credentials in one encrypted file; reads it anew when it was changed, writes it whole or not at all."""

    def __init__(
        self, path: Path, password: str | None = None, *, ask: Callable[[], str] | None = None, cost: int = SCRYPT_COST
    ) -> None:
        """`ask` is called at most once, and only if the file needs a password that was not given; `cost` is for new seals."""
        self._path = path
        self._cost = cost
        self._password = password or None
        self._ask = ask
        self._derived: tuple[_Key, bytes] | None = None
        self._opened: tuple[tuple[int, int, int], _Entries] | None = None

    def __repr__(self) -> str:
        return f"FileVault({str(self._path)!r})"

    @property
    def path(self) -> Path:
        return self._path

    @property
    def key_path(self) -> Path:
        return self._path.with_name(self._path.name + ".key")

    @property
    def typed_password(self) -> str | None:
        """What opened it, for a process that we start and that nobody can ask; None where a key file does."""
        return self._password

    @property
    def has_password(self) -> bool | None:
        """Whether the file is sealed with a password; None if there is no file yet."""
        sealed = self._read()
        return None if sealed is None else sealed.key.made_from == "password"

    def credentials(self) -> Sequence[Credential]:
        return [entry.credential for entry in self._open().values()]

    def credential(self, name: str) -> Credential:
        return self._found(name, self._open()).credential

    def secret(self, name: str) -> Secret:
        entry = self._open().get(name)
        if entry is None:
            raise CredentialError(f"no credential {name!r} in {self._path}; `bowerbird credentials list` shows what there is")
        return Secret(name=name, values=dict(entry.values))

    def check_name(self, name: str, *, replace: bool = False) -> None:
        """Raises if a credential of this name could not be added."""
        self._check_name(name, self._open(), replace=replace)

    def add(self, credential: Credential, secret: Secret, *, replace: bool = False) -> None:
        with self._changing() as entries:
            self._check_name(credential.name, entries, replace=replace)
            entries[credential.name] = _Entry(credential, dict(secret.values))

    def keep(self, secret: Secret) -> None:
        with self._changing() as entries:
            entry = entries.get(secret.name)
            # A session that was opened while somebody replaced the secret would bring the old one back.
            if entry is not None and _without_session(entry.values) == _without_session(secret.values):
                entries[secret.name] = _Entry(entry.credential, dict(secret.values))

    def bind(self, name: str, servers: Sequence[str]) -> Credential:
        """Says anew which servers a credential belongs to; a session opened with it elsewhere is forgotten."""
        with self._changing() as entries:
            entry = self._found(name, entries)
            bound = structs.replace(entry.credential, servers=tuple(servers))
            entries[name] = _Entry(bound, _without_session(entry.values))
        return bound

    def remove(self, name: str) -> None:
        with self._changing() as entries:
            self._found(name, entries)
            del entries[name]

    def _found(self, name: str, entries: _Entries) -> _Entry:
        if name not in entries:
            raise CredentialError(f"no credential {name!r} in {self._path}; `bowerbird credentials list` shows what there is")
        return entries[name]

    def reseal(self, password: str | None) -> None:
        """Seals the file anew: with this password, or with the key file if there is none."""
        with locked(self._path):
            entries = self._open()
            self._password, self._ask = password or None, None
            self._seal(entries, self._new_key())
            if self._password:
                self.key_path.unlink(missing_ok=True)

    def _check_name(self, name: str, entries: _Entries, *, replace: bool) -> None:
        if not NAME.fullmatch(name):
            raise CredentialError(
                f"{name!r} cannot name a credential; use up to 64 letters, digits and . _ @ - after a letter or digit"
            )
        if name in entries and not replace:
            raise CredentialError(
                f"{self._path} already holds a credential {name!r}; remove it first, or replace it with --replace"
            )

    @contextmanager
    def _changing(self) -> Iterator[_Entries]:
        with locked(self._path):
            sealed = self._read()
            entries = dict(self._open())
            yield entries
            self._seal(entries, sealed.key if sealed else self._new_key())

    def _read(self) -> _Sealed | None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CredentialError(
                f"cannot read the vault {self._path}: {error.strerror}; check its owner and permissions"
            ) from error
        try:
            sealed = msgspec.json.decode(content, type=_Sealed)
        except msgspec.MsgspecError:
            raise self._damaged() from None
        if sealed.format != _FORMAT:
            raise CredentialError(f"the vault {self._path} is of another version of bowerbird; open it with that one")
        return sealed

    def _open(self) -> _Entries:
        version = self._version()
        if version is None:
            return {}
        if self._opened is None or self._opened[0] != version:
            self._opened = version, self._decrypted()
        return self._opened[1]

    def _version(self) -> tuple[int, int, int] | None:
        # Every write puts a new file in place, so its number, time and size tell one content from the next.
        try:
            stat = self._path.stat()
        except OSError:
            return None if self._read() is None else (0, 0, 0)
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def _decrypted(self) -> _Entries:
        sealed = self._read()
        if sealed is None:
            return {}
        key = self._key_bytes(sealed.key)
        try:
            content = AESGCM(key).decrypt(sealed.nonce, sealed.content, _bound(sealed.key))
            return msgspec.json.decode(content, type=_Entries)
        except InvalidTag:
            self._derived = None
            raise self._wrong_key(sealed.key) from None
        except (ValueError, msgspec.MsgspecError):
            raise self._damaged() from None

    def _seal(self, entries: _Entries, key: _Key) -> None:
        nonce = os.urandom(_NONCE_LENGTH)
        content = AESGCM(self._key_bytes(key)).encrypt(nonce, msgspec.json.encode(entries), _bound(key))
        self._write(self._path, msgspec.json.encode(_Sealed(_FORMAT, key, nonce, content)) + b"\n")

    def _write(self, path: Path, content: bytes) -> None:
        try:
            write_private(path, content)
        except OSError as error:
            raise CredentialError(
                f"cannot write {path}: {error.strerror}; it is unchanged. Check disk space and permissions"
            ) from error

    def _new_key(self) -> _Key:
        if self._password:
            return _Key("password", os.urandom(16), self._cost)
        if not self.key_path.exists():
            self._write(self.key_path, b64encode(os.urandom(_KEY_LENGTH)) + b"\n")
        return _Key("file")

    def _key_bytes(self, key: _Key) -> bytes:
        if key.made_from == "file":
            return self._from_file()
        if self._derived is None or self._derived[0] != key:
            self._derived = key, self._stretch(key)
        return self._derived[1]

    def _stretch(self, key: _Key) -> bytes:
        if key.made_from != "password" or not 2 <= key.cost <= _MOST_SCRYPT_COST or key.cost & (key.cost - 1):
            raise self._damaged()
        if self._password is None and self._ask is not None:
            self._password = self._ask() or None
        if self._password is None:
            raise CredentialError(
                f"the vault {self._path} needs its password; set BOWERBIRD_VAULT_PASSWORD, or run this in a terminal"
            )
        return Scrypt(salt=key.salt, length=_KEY_LENGTH, n=key.cost, r=8, p=3).derive(self._password.encode())

    def _from_file(self) -> bytes:
        if not self.key_path.exists():
            raise CredentialError(
                f"the key file {self.key_path} of the vault is missing; restore it from your backup, "
                f"or remove {self._path} and add the credentials again"
            )
        if not is_private(self.key_path):
            raise CredentialError(f"others can read the key file {self.key_path}; run: chmod 600 {self.key_path}")
        return self._decoded(self.key_path)

    def _decoded(self, key_file: Path) -> bytes:
        try:
            key = b64decode(key_file.read_bytes().strip(), validate=True)
        except (OSError, ValueError):
            key = b""
        if len(key) != _KEY_LENGTH:
            raise CredentialError(f"the key file {key_file} cannot be read or is damaged; restore it from your backup")
        return key

    def _wrong_key(self, key: _Key) -> CredentialError:
        if key.made_from == "password":
            self._password = None
            return CredentialError(
                f"the password does not open the vault {self._path}; check BOWERBIRD_VAULT_PASSWORD or type it again. "
                "If it is right the file was damaged: restore it from your backup"
            )
        return CredentialError(
            f"the key file {self.key_path} does not open the vault {self._path}: one of the two was replaced or damaged; "
            "restore both from one backup"
        )

    def _damaged(self) -> CredentialError:
        return CredentialError(
            f"the vault {self._path} is damaged or not a vault; restore it from your backup, "
            "or remove it and add the credentials again"
        )


def _without_session(values: dict[str, str]) -> dict[str, str]:
    """The values that a person gave: an app password opens the next session by itself, a bare token cannot."""
    session = ("access_jwt", "refresh_jwt", "did")
    return {name: value for name, value in values.items() if name not in session} if values.get("app_password") else values


def _bound(key: _Key) -> bytes:
    return msgspec.json.encode(key)
