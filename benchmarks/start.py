"""How long commands take to start: `python -m benchmarks.start --json`.

Each command is run on the store of a small crawl, in turns with `python -c pass`, with `python -c "import typer, rich"`, and with
a bare Typer program of one argument and one flag, which is the least that a command line of this kind takes. Processor time is
compared, and the least of all rounds: a busy machine disturbs that least. As in an installed program, modules are compiled once.
`ratio` is the slowest of the commands that read against the bare Typer program; `start_ratio` is `bowerbird --version` against
the libraries alone.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import msgspec

from bowerbird.cli.store_addresses import read_plan
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import BASE, SERVICE, Laboratory
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

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
seeds = {seeds}
stop.calls = 40
[service]
name = "{name}"
provider = "mastodon"
base = "{base}"
"""
_READING = ("status", "gone", "cascade", "dehydrate", "completeness", "history")
_MORE = {"dehydrate": ["--service", SERVICE], "history": ["nobody"]}


def _seconds(arguments: list[str], folder: Path) -> float:
    """Processor seconds of one run, its own and the system's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, check=False, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def _crawl(clock: VirtualClock, folder: Path) -> None:
    """Leaves a crawl file and the store of its crawl in the folder."""
    world = WorldSettings(accounts=50, start=clock.now(), history=timedelta(days=5), longest_history=20)
    laboratory = Laboratory(Setup(dialect="mastodon", world=world, tokens=1), clock)
    file = folder / "crawl.toml"
    file.write_text(_CRAWL.format(seeds=laboratory.keys(20), name=SERVICE, base=BASE))
    async with laboratory.crawl(read_plan(file)) as crawl:
        await laboratory.run(crawl)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    runs = {"pass": ["-c", "pass"], "libraries": ["-c", "import typer, rich"], "bare_typer": ["-c", _BARE]}
    runs["version"] = ["-m", "bowerbird", "--version"]
    runs |= {name: ["-m", "bowerbird", name, *_MORE.get(name, []), "crawl.toml"] for name in _READING}
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        run_virtual(lambda clock: _crawl(clock, Path(folder)))
        for _ in range(options.rounds):
            for name, arguments in runs.items():
                least[name] = min(least.get(name, 1e9), _seconds(arguments, Path(folder)))
    for name, seconds in least.items():
        print(f"{name:>13} {seconds:.3f} s")
    ratio = max(least[name] for name in _READING) / least["bare_typer"]
    figures = {"ratio": round(ratio, 2), "start_ratio": round(least["version"] / least["libraries"], 2)}
    figures |= {f"{name}_seconds": round(seconds, 3) for name, seconds in least.items()}
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    main()
