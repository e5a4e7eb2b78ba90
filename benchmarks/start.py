"""How long commands take to start: `python -m benchmarks.start --json`.

Each command is run on an empty store, in turns with `python -c pass` and with a bare Typer program of one argument and one flag,
which is the least that a command line of this kind takes. Processor time is compared, and the least of all rounds: a busy
machine disturbs that least. `ratio` is the slowest of the commands that read against the bare Typer program.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from bowerbird.clock import RealClock
from bowerbird.store.opening import open_store

_BARE = """
from typing import Annotated
import typer
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
@app.command()
def status(place: Annotated[str | None, typer.Argument()] = None, as_json: Annotated[bool, typer.Option("--json")] = False):
    print(place)
app()
"""
_CRAWL = """
flow = "timelines"
seeds = ["1"]
[service]
name = "here"
provider = "mastodon"
base = "https://mastodon.example"
"""
_READING = ("status", "gone", "cascade", "dehydrate", "completeness", "history")
_MORE = {"dehydrate": ["--service", "here"], "history": ["nobody"]}


def _seconds(arguments: list[str], folder: Path) -> float:
    """Processor seconds of one run, its own and the system's."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, check=False, timeout=120)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


async def _store(folder: Path) -> None:
    (folder / "crawl.toml").write_text(_CRAWL)
    async with open_store(str(folder / "crawl.db"), RealClock()):
        """It is made and left empty."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    runs = {"pass": ["-c", "pass"], "bare_typer": ["-c", _BARE]}
    runs |= {name: ["-m", "bowerbird", name, *_MORE.get(name, []), "crawl.toml"] for name in _READING}
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_store(Path(folder)))
        for _ in range(options.rounds):
            for name, arguments in runs.items():
                least[name] = min(least.get(name, 1e9), _seconds(arguments, Path(folder)))
    for name, seconds in least.items():
        print(f"{name:>13} {seconds:.3f} s")
    ratio = max(least[name] for name in _READING) / least["bare_typer"]
    figures = {"ratio": round(ratio, 2)} | {f"{name}_seconds": round(seconds, 3) for name, seconds in least.items()}
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    main()
