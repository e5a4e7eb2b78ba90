"""The only reader of the environment: flags over environment over file.

The file is `config.toml` in the configuration folder. Every setting of the table in docs/commands.md is a field of `Settings`.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import platformdirs

from bowerbird import __version__
from bowerbird.errors import UserError

PREFIX = "BOWERBIRD_"
SECRET_PREFIX = "BOWERBIRD_SECRET_"  # noqa: S105 - the name of a variable, not a secret
LOG_LEVELS = ("debug", "info", "warning", "error")
FILE_KEYS = ("contact", "data_folder", "log_level", "vault")
"""What the file may set. The vault's password is not among them: beside the vault it would protect nothing."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where bowerbird keeps things and how it introduces itself, after flags, environment and file were heard."""

    config_folder: Path
    data_folder: Path
    cache_folder: Path
    """For what can be made again, such as the index of places."""
    vault: Path
    log_level: str = "warning"
    contact: str = ""
    """An address or page where a service's operators can reach whoever runs this crawl."""
    vault_password: str | None = field(default=None, repr=False)
    worker_token: str | None = field(default=None, repr=False)
    """What a worker shows to its coordinator."""
    config_file: Path | None = None
    """The file that was read, if there is one."""

    @property
    def user_agent(self) -> str:
        """Names us, where to complain, and what for; the transport fills in `{provider}` for each service."""
        contact = f"+{self.contact}; " if self.contact else ""
        return f"bowerbird/{__version__} ({contact}research; provider={{provider}})"


def load_settings(
    *,
    environment: Mapping[str, str] | None = None,
    vault: Path | str | None = None,
    log_level: str | None = None,
    contact: str | None = None,
) -> Settings:
    """The settings in force; the named arguments are flags and win where they are not None."""
    env = os.environ if environment is None else environment
    config_folder = _folder(env, "CONFIG", "config") or Path(
        platformdirs.user_config_path("bowerbird", appauthor=False)
    )
    file = config_folder / "config.toml"
    values = _read_file(file)
    data_folder = _folder(env, "DATA", "data") or _path(values.get("data_folder"), config_folder)
    return Settings(
        config_folder=config_folder,
        data_folder=data_folder or Path(platformdirs.user_data_path("bowerbird", appauthor=False)),
        cache_folder=_folder(env, "CACHE", "cache")
        or Path(platformdirs.user_cache_path("bowerbird", appauthor=False)),
        vault=_given(vault, env, "VAULT")
        or _path(values.get("vault"), config_folder)
        or config_folder / "vault",
        log_level=_level(
            _first(log_level, _variable(env, "LOG_LEVEL"), values.get("log_level"), "warning")
        ),
        contact=_header_safe(_first(contact, _variable(env, "CONTACT"), values.get("contact"), "")),
        vault_password=_variable(env, "VAULT_PASSWORD"),
        worker_token=_variable(env, "WORKER_TOKEN"),
        config_file=file if file.exists() else None,
    )


def secret_from_environment(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The value of `BOWERBIRD_SECRET_<NAME>`, for `credentials add` in scripts."""
    env = os.environ if environment is None else environment
    return env.get(SECRET_PREFIX + name.upper()) or None


@dataclass(frozen=True)
class Manager:
    """The service manager that started us and wants to hear from us, as systemd says it."""

    socket: str
    watchdog: timedelta | None
    """Without a sign of life for so long, it starts us again."""


def service_manager(environment: Mapping[str, str] | None = None) -> Manager | None:
    """Who waits for `READY=1` and `WATCHDOG=1`, from `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`; mostly nobody."""
    env = os.environ if environment is None else environment
    address, micros, pid = (
        env.get("NOTIFY_SOCKET", ""),
        env.get("WATCHDOG_USEC", ""),
        env.get("WATCHDOG_PID", ""),
    )
    if address[:1] not in ("/", "@"):
        return None
    is_meant = micros.isdecimal() and int(micros) > 0 and pid in ("", str(os.getpid()))
    return Manager(address, timedelta(microseconds=int(micros)) if is_meant else None)


def has_display(environment: Mapping[str, str] | None = None) -> bool:
    """Whether a browser with windows can be opened here."""
    env = os.environ if environment is None else environment
    return sys.platform in ("darwin", "win32") or bool(
        env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")
    )


def process_environment() -> dict[str, str]:
    """A copy of our own environment, for a child process that is meant to inherit it."""
    return dict(os.environ)


def _variable(env: Mapping[str, str], name: str) -> str | None:
    # An empty variable is how shells and service files say "not set".
    return env.get(PREFIX + name) or None


def _folder(env: Mapping[str, str], name: str, under_home: str) -> Path | None:
    own, home = _variable(env, f"{name}_FOLDER"), _variable(env, "HOME")
    if own:
        return Path(own).expanduser()
    return Path(home).expanduser() / under_home if home else None


def _given(flag: Path | str | None, env: Mapping[str, str], name: str) -> Path | None:
    value = flag if flag is not None else _variable(env, name)
    return None if value is None else Path(value).expanduser()


def _path(value: str | None, relative_to: Path) -> Path | None:
    return None if not value else relative_to / Path(value).expanduser()


def _first(*candidates: str | None) -> str:
    return next(value for value in candidates if value is not None)


def _read_file(file: Path) -> dict[str, str]:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(
            f"cannot read the settings in {file}: {error}",
            "correct or remove the file",
            code="file_unreadable",
        ) from error
    for key, value in values.items():
        _check_key(file, key, value)
    return values


def _check_key(file: Path, key: str, value: object) -> None:
    if key == "vault_password":
        raise UserError(
            f"{file}: the vault's password does not belong in a file",
            "set BOWERBIRD_VAULT_PASSWORD or type it when asked",
            code="refused",
        )
    if key not in FILE_KEYS:
        raise UserError(
            f"{file}: unknown setting {key!r}",
            f"allowed are {', '.join(FILE_KEYS)}",
            code="unknown_key",
        )
    if not isinstance(value, str):
        raise UserError(f"{file}: {key} must be text in quotes, not {value!r}")


def _level(value: str) -> str:
    if value.lower() not in LOG_LEVELS:
        raise UserError(
            f"log level {value!r} does not exist",
            f"use one of {', '.join(LOG_LEVELS)}",
            code="unknown_name",
        )
    return value.lower()


def _header_safe(contact: str) -> str:
    if not contact.isascii() or not contact.isprintable() or any(mark in contact for mark in "()"):
        raise UserError(
            f"contact {contact!r} must be plain ASCII without brackets, such as an e-mail address or a web page"
        )
    return contact
