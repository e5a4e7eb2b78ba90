"""The encrypted file that holds credentials and their secrets.

The file is one JSON object: how its key is made (scrypt from a password, or the key file beside it), a nonce, and the encrypted
content (AES-256-GCM, which also authenticates the description of the key). Without the key the file shows its size only.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from msgspec import structs

from bowerbird.db.files.private import is_private, locked, write_private
from bowerbird.errors import CredentialError
from bowerbird.model import Credential, Secret

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_FORMAT = "bowerbird vault 1"
_KEY_LENGTH = 32
_COST, _MAX_COST = 2**15, 2**20
"""Of scrypt; with r = 8 and p = 3 the default takes 32 MB and about a third of a second per guess at a password."""
_SESSION_FIELDS = ("access_jwt", "refresh_jwt", "did")


class _Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the key is made: from a `password` (scrypt with salt and cost) or from a `file`."""

    made_from: Literal["password", "file"]
    salt: bytes = b""
    cost: int = _COST


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


class FileVault:
    """Credentials in one encrypted file, which is read for every request and written whole or not at all."""

    def __init__(
        self, path: Path, password: str | None = None, *, ask: Callable[[], str] | None = None, cost: int = _COST
    ) -> None:
        """`ask` is called at most once, if the file needs a password that was not given. `cost` is for new passwords."""
        self.path = path
        self.key_path = path.with_name(path.name + ".key")
        self.password = password or None
        self._ask = ask
        self._cost = cost
        self._derived: tuple[_Key, bytes] | None = None

    def __repr__(self) -> str:
        return f"FileVault({str(self.path)!r})"

    @property
    def has_password(self) -> bool | None:
        """Whether a password protects the file; None if there is no file yet."""
        sealed = self._read_file()
        return None if sealed is None else sealed.key.made_from == "password"

    def credentials(self) -> Sequence[Credential]:
        return [entry.credential for entry in self._read().values()]

    def credential(self, name: str) -> Credential:
        return self._entry(name).credential

    def secret(self, name: str) -> Secret:
        return Secret(name=name, values=dict(self._entry(name).values))

    def check_name(self, name: str, *, replace: bool = False) -> None:
        """Raise `CredentialError` if a credential of this name cannot be added."""
        if not NAME.fullmatch(name):
            raise CredentialError(
                f"Invalid name {name!r}.", "Use up to 64 letters, digits and . _ @ - and start with a letter or digit."
            )
        if name in self._read() and not replace:
            raise CredentialError(
                f"{self.path} already has a credential {name!r}.", "Remove it first, or use --replace.", code="already_exists"
            )

    def add(self, credential: Credential, secret: Secret, *, replace: bool = False) -> None:
        with self._changing() as entries:
            self.check_name(credential.name, replace=replace)
            entries[credential.name] = _Entry(credential, dict(secret.values))

    def keep(self, secret: Secret) -> None:
        """Store the session of a secret, unless the secret was replaced since the session was opened."""
        with self._changing() as entries:
            entry = entries.get(secret.name)
            if entry is not None and _without_session(entry.values) == _without_session(secret.values):
                entries[secret.name] = _Entry(entry.credential, dict(secret.values))

    def bind(self, name: str, servers: Sequence[str]) -> Credential:
        """Change the servers that a credential belongs to, and forget its session."""
        with self._changing() as entries:
            entry = self._entry(name)
            bound = structs.replace(entry.credential, servers=tuple(servers))
            entries[name] = _Entry(bound, _without_session(entry.values))
        return bound

    def remove(self, name: str) -> None:
        with self._changing() as entries:
            self._entry(name)
            del entries[name]

    def reseal(self, password: str | None) -> None:
        """Encrypt the file with this password, or with a key file if it is None."""
        with locked(self.path):
            entries = self._read()
            self.password, self._ask = password or None, None
            self._write(entries, self._new_key())
            if self.password:
                self.key_path.unlink(missing_ok=True)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, _Entry]]:
        with locked(self.path):
            sealed, entries = self._read_file(), dict(self._read())
            yield entries
            self._write(entries, sealed.key if sealed else self._new_key())

    def _entry(self, name: str) -> _Entry:
        entry = self._read().get(name)
        if entry is None:
            raise CredentialError(
                f"No credential {name!r} in {self.path}.",
                "Run `bowerbird credentials list` to see all.",
                code="unknown_credential",
            )
        return entry

    def _read(self) -> dict[str, _Entry]:
        sealed = self._read_file()
        if sealed is None:
            return {}
        try:
            content = AESGCM(self._key(sealed.key)).decrypt(sealed.nonce, sealed.content, msgspec.json.encode(sealed.key))
            return msgspec.json.decode(content, type=dict[str, _Entry])
        except InvalidTag:
            self._derived = None
            if sealed.key.made_from == "password":
                self.password = None
                raise CredentialError(
                    f"The password does not open the vault {self.path}.",
                    "Check BOWERBIRD_VAULT_PASSWORD or type it again. If it is right, the file is damaged: restore "
                    "it from your backup.",
                    code="wrong_password",
                ) from None
            raise CredentialError(
                f"The key file {self.key_path} does not open the vault {self.path}: one of them was replaced or damaged.",
                "Restore both from one backup.",
                code="file_damaged",
            ) from None
        except (ValueError, msgspec.MsgspecError):
            raise self._damaged() from None

    def _read_file(self) -> _Sealed | None:
        try:
            sealed = msgspec.json.decode(self.path.read_bytes(), type=_Sealed)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CredentialError(
                f"Cannot read the vault {self.path}: {error.strerror}.",
                "Check its owner and permissions.",
                code="file_unreadable",
            ) from error
        except msgspec.MsgspecError:
            raise self._damaged() from None
        if sealed.format != _FORMAT:
            raise CredentialError(
                f"Another version of bowerbird wrote the vault {self.path}.", "Use that version.", code="wrong_version"
            )
        return sealed

    def _write(self, entries: dict[str, _Entry], key: _Key) -> None:
        nonce = os.urandom(12)
        content = AESGCM(self._key(key)).encrypt(nonce, msgspec.json.encode(entries), msgspec.json.encode(key))
        self._write_file(self.path, msgspec.json.encode(_Sealed(_FORMAT, key, nonce, content)) + b"\n")

    def _write_file(self, path: Path, content: bytes) -> None:
        try:
            write_private(path, content)
        except OSError as error:
            raise CredentialError(
                f"Cannot write {path}: {error.strerror}. It is unchanged.",
                "Check disk space and permissions.",
                code="file_unwritable",
            ) from error

    def _new_key(self) -> _Key:
        if self.password:
            return _Key("password", os.urandom(16), self._cost)
        if not self.key_path.exists():
            self._write_file(self.key_path, b64encode(os.urandom(_KEY_LENGTH)) + b"\n")
        return _Key("file")

    def _key(self, key: _Key) -> bytes:
        if key.made_from == "file":
            return self._key_from_file()
        if self._derived is None or self._derived[0] != key:
            if not 2 <= key.cost <= _MAX_COST:
                raise self._damaged()
            if self.password is None and self._ask is not None:
                self.password = self._ask() or None
            if self.password is None:
                raise CredentialError(
                    f"The vault {self.path} needs its password.",
                    "Set BOWERBIRD_VAULT_PASSWORD or use a terminal.",
                    code="needs_password",
                )
            scrypt = Scrypt(salt=key.salt, length=_KEY_LENGTH, n=key.cost, r=8, p=3)
            self._derived = key, scrypt.derive(self.password.encode())
        return self._derived[1]

    def _key_from_file(self) -> bytes:
        try:
            if not is_private(self.key_path):
                raise CredentialError(f"Other users can read the key file {self.key_path}.", f"Run: chmod 600 {self.key_path}")
            key = b64decode(self.key_path.read_bytes().strip(), validate=True)
        except FileNotFoundError:
            raise CredentialError(
                f"The key file {self.key_path} of the vault is missing.",
                f"Restore it from your backup, or remove {self.path} and add the credentials again.",
                code="file_not_found",
            ) from None
        except OSError as error:
            raise CredentialError(
                f"Cannot read the key file {self.key_path}: {error.strerror}.",
                "Check its owner and permissions.",
                code="file_unreadable",
            ) from error
        except ValueError:
            key = b""
        if len(key) != _KEY_LENGTH:
            raise CredentialError(
                f"The key file {self.key_path} is damaged.", "Restore it from your backup.", code="file_damaged"
            )
        return key

    def _damaged(self) -> CredentialError:
        return CredentialError(
            f"The vault {self.path} is damaged.",
            "Restore it from your backup, or remove it and add the credentials again.",
            code="file_damaged",
        )


def _without_session(values: dict[str, str]) -> dict[str, str]:
    """Return what the user entered. An app password opens the next session; a bare token cannot, so it is kept."""
    return (
        {name: value for name, value in values.items() if name not in _SESSION_FIELDS} if values.get("app_password") else values
    )
