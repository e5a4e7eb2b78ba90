"""What `bowerbird doctor` looks at on this machine; each check says what it found and, if need be, what to do."""

from __future__ import annotations

import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bowerbird.clock import RealClock
from bowerbird.crawl.access.ownership import unbound
from bowerbird.db.files.private import is_private
from bowerbird.db.sqlite.library import SAFE_VERSION, sqlite_module
from bowerbird.errors import BowerbirdError, CredentialError
from bowerbird.limits.vault import FileVault
from bowerbird.ports import Clock
from bowerbird.settings import Settings

OK, WARNING, PROBLEM = "ok", "warning", "problem"
_OLDEST_PYTHON = (3, 11)
_GIGABYTE = 1024**3
_LITTLE_SPACE = 2 * _GIGABYTE
_NO_SPACE = _GIGABYTE // 5
_RELEASED = datetime(2026, 11, 1, tzinfo=UTC)
_FAR_FUTURE = _RELEASED + timedelta(days=365 * 25)


@dataclass(frozen=True)
class Check:
    """One finding: `ok`, `warning` or `problem`, and what to do unless it is ok."""

    name: str
    verdict: str
    found: str
    advice: str = ""


def local_checks(settings: Settings, vault: FileVault, providers: Iterable[str] = ()) -> list[Check]:
    """Everything that can be checked without asking anyone; `providers`: whose services will see how we introduce ourselves."""
    return [
        check_python(),
        check_sqlite(),
        check_settings(settings, providers),
        check_space(settings.data_folder),
        check_writing("configuration folder", settings.config_folder),
        check_writing("data folder", settings.data_folder),
        check_vault(vault),
        check_clock(RealClock()),
    ]


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    found = f"{platform.python_implementation()} {'.'.join(map(str, version))}"
    if version < _OLDEST_PYTHON:
        return Check("Python", PROBLEM, found, "install Python 3.11 or newer")
    return Check("Python", OK, found)


def check_sqlite() -> Check:
    module = sqlite_module()
    found = f"{module.sqlite_version} from {module.__name__}"
    if module.sqlite_version_info < SAFE_VERSION:
        wanted = ".".join(map(str, SAFE_VERSION))
        return Check("SQLite", PROBLEM, f"{found} can corrupt a database", f"needs {wanted} or newer: pip install pysqlite3")
    if module is not sqlite3:
        found += f" (Python's own {sqlite3.sqlite_version} can corrupt a database and is not used)"
    return Check("SQLite", OK, found)


def check_settings(settings: Settings, providers: Iterable[str] = ()) -> Check:
    agent = settings.user_agent.replace("{provider}", ", ".join(providers) or "…")
    if not settings.contact:
        advice = "set BOWERBIRD_CONTACT to an address or page, so that a service's operators can reach you before they block you"
        return Check("contact", WARNING, f"services see only {agent}", advice)
    return Check("contact", OK, agent)


def free_space(place: Path) -> int:
    return shutil.disk_usage(place).free


def check_space(
    folder: Path,
    name: str = "disk space",
    advice: str = "free some space, or set BOWERBIRD_DATA_FOLDER to a larger disk",
    free_at: Callable[[Path], int] = free_space,
) -> Check:
    free = free_at(_existing(folder))
    found = f"{free / _GIGABYTE:.1f} GB free for {folder}"
    if free < _NO_SPACE:
        return Check(name, PROBLEM, found, advice)
    if free < _LITTLE_SPACE:
        return Check(name, WARNING, found, "a million posts take about half a gigabyte; make room before a long crawl")
    return Check(name, OK, found)


def check_writing(name: str, folder: Path, advice: str = "") -> Check:
    place = _existing(folder)
    try:
        with tempfile.TemporaryFile(dir=place):
            return Check(name, OK, f"{folder} can be written" + ("" if place == folder else " (made when needed)"))
    except OSError as error:
        variable = "BOWERBIRD_CONFIG_FOLDER" if name.startswith("config") else "BOWERBIRD_DATA_FOLDER"
        advice = advice or f"change its permissions, or set {variable}"
        return Check(name, PROBLEM, f"{place} cannot be written: {error.strerror}", advice)


def check_vault(vault: FileVault) -> Check:
    try:
        credentials = vault.credentials()
    except CredentialError as error:
        return Check("vault", PROBLEM, error.problem, error.advice)
    if not vault.path.exists():
        return Check("vault", OK, f"none yet at {vault.path}: the first credential makes it")
    if not is_private(vault.path):
        return Check("vault", WARNING, f"others can read {vault.path}", f"run: chmod 600 {vault.path}")
    if nobodys := next((each for each in credentials if not each.home), None):
        unsent = unbound(nobodys)
        return Check("vault", WARNING, unsent.problem, unsent.advice)
    count = len(credentials)
    how = "a password" if vault.has_password else "its key file"
    return Check("vault", OK, f"{count} credential{'s' * (count != 1)} in {vault.path}, opened by {how}")


def check_clock(clock: Clock) -> Check:
    now = clock.now()
    if not _RELEASED <= now <= _FAR_FUTURE:
        return Check("clock", PROBLEM, f"it says {now:%Y-%m-%d %H:%M} UTC", "set the system clock, best by NTP")
    return Check("clock", OK, f"{now:%Y-%m-%d %H:%M:%S} UTC")


def as_problem(name: str, error: BowerbirdError | OSError | TimeoutError, advice: str) -> Check:
    return Check(name, PROBLEM, str(error) or type(error).__name__, advice)


def _existing(folder: Path) -> Path:
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
