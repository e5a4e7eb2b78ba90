"""Run evaluations and benchmarks and record their figures: `python -m benchmarks.baseline`.

Each command is run once, one after the other, and its entry is written to a JSON file under
`benchmarks/baseline/` when it has ended. An interrupted run is therefore resumed by the same
command: an entry that exists is not measured again unless `--again` is given. Give names to
measure only some commands; `--list` prints all of them.

An entry has the command, the figures that the command printed as its last line, its exit code,
the seconds it took, the processor seconds of its processes (without those of a PostgreSQL
server, which is nobody's child), and the load average of the machine before and after it.
`shortened` tells that the command has a longer form which is the usual one.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "baseline"
DATA = "../shared/data"
"""Folder of recorded data as commands name it, seen from the root of the repository."""
LIMIT_SECONDS = 900
GRACE_SECONDS = 30
"""How long a command that exceeded its limit may take to stop its own processes."""


class Command(Struct, frozen=True):
    """A command of the baseline."""

    name: str
    line: str
    shortened: bool = False


class Entry(Struct, frozen=True):
    """What one run of a command showed."""

    name: str
    command: str
    shortened: bool
    exit_code: int
    seconds: float
    processor_seconds: float | None
    """None: the command was not run by this script."""
    load_average: tuple[float, float]
    """Of the last minute, before and after the run."""
    measured_at: str
    figures: dict[str, Any]


class NotMeasured(Exception):
    """A command gave no figures."""


class Machine(Struct, frozen=True):
    cores: int
    memory_gb: int
    system: str
    python: str


class Baseline(Struct, frozen=True):
    """The content of a baseline file."""

    commit: str
    """The last commit that changed the package: check it out to measure the same code again."""
    machine: Machine
    entries: list[Entry]


COMMANDS = (
    Command("evaluate.nationality", f"bowerbird evaluate nationality --data {DATA} --json"),
    Command("evaluate.language", f"bowerbird evaluate language --data {DATA} --json"),
    Command(
        "evaluate.keywords",
        f"bowerbird evaluate keywords --data {DATA} --events 2013_West_Texas_Explosion "
        "--events 2014_California_Earthquake --events 2014_Chile_Earthquake_cl --json",
        shortened=True,
    ),
    Command(
        "benchmarks.engine",
        "python -m benchmarks.engine --accounts 5000 --json",
        shortened=True,
    ),
    Command("benchmarks.stream", "python -m benchmarks.stream --json"),
    Command("benchmarks.walk", "python -m benchmarks.walk --json"),
    Command("benchmarks.parse", "python -m benchmarks.parse --json"),
    Command("benchmarks.start", "python -m benchmarks.start --json"),
    Command(
        "benchmarks.frontier",
        "python -m benchmarks.frontier --sizes 10000,200000 --postgres 20000 --calls 60 --json",
        shortened=True,
    ),
    Command(
        "benchmarks.policies",
        "python -m benchmarks.policies --users 50000 --calls 40 --json",
        shortened=True,
    ),
    Command("benchmarks.keywords", "python -m benchmarks.keywords --json"),
    Command(
        "benchmarks.fleet",
        "python -m benchmarks.fleet --pages 120 --processes 1 4 --json",
        shortened=True,
    ),
    Command(
        "benchmarks.coordinator",
        "python -m benchmarks.coordinator --pairs 80 --json",
        shortened=True,
    ),
    Command(
        "benchmarks.export",
        "python -m benchmarks.export --sizes 20000,60000 --times 3 --json",
        shortened=True,
    ),
    Command(
        "benchmarks.everyday",
        "python -m benchmarks.everyday --posts 1000 --json",
        shortened=True,
    ),
    Command(
        "benchmarks.reports",
        "python -m benchmarks.reports --sizes 20000,60000 --json",
        shortened=True,
    ),
    Command(
        "benchmarks.dashboard",
        "python -m benchmarks.dashboard --posts 60000 --rounds 10 --pages 200 --json",
        shortened=True,
    ),
    Command("evaluate.quota", "bowerbird evaluate quota --hours 3 --json", shortened=True),
    Command(
        "evaluate.crash",
        "bowerbird evaluate crash --kills 6 --postgres-kills 2 --json",
        shortened=True,
    ),
    Command(
        "evaluate.fleet",
        "bowerbird evaluate fleet --workers 4 --kills 4 --json",
        shortened=True,
    ),
    Command("evaluate.stream", "bowerbird evaluate stream --cuts 5 --json", shortened=True),
    Command("evaluate.money", "bowerbird evaluate money --only timelines --json", shortened=True),
    Command("evaluate.forget", "bowerbird evaluate forget --only mastodon --json", shortened=True),
    Command(
        "evaluate.flavours",
        "bowerbird evaluate flavours --flow timelines --json",
        shortened=True,
    ),
    Command(
        "evaluate.hostile",
        "bowerbird evaluate hostile --short --network mastodon --json",
        shortened=True,
    ),
    Command(
        "evaluate.sampling",
        "bowerbird evaluate sampling --runs 4 --calls 200 --accounts 1000 --json",
        shortened=True,
    ),
    Command("evaluate.plan", "bowerbird evaluate plan --scale 0.1 --json", shortened=True),
    Command(
        "evaluate.coverage",
        "bowerbird evaluate coverage --accounts 300 --days 2 --fast --json",
        shortened=True,
    ),
    Command(
        "evaluate.community",
        "bowerbird evaluate community --accounts 600 --seeds 21 --days 0.5 --json",
        shortened=True,
    ),
    Command(
        "evaluate.web",
        "bowerbird evaluate web --logins 50 --no-browser --json",
        shortened=True,
    ),
    Command("evaluate.week", "bowerbird evaluate week --network mastodon --json", shortened=True),
)


def measure(command: Command, data: str, limit: float) -> Entry:
    """Run a command and return its entry.

    Raises:
        NotMeasured: The command exceeded the limit, or its last line is not a JSON object.
    """
    arguments = shlex.split(command.line.replace(DATA, data))
    program = {"python": [sys.executable], "bowerbird": [sys.executable, "-m", "bowerbird"]}[arguments[0]]
    load_before = os.getloadavg()[0]
    used_before = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured_at = datetime.now(UTC).isoformat(timespec="seconds")
    began = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*program, *arguments[1:]],
            cwd=ROOT,
            stdout=output,
            start_new_session=True,
            # A shell lets its background processes ignore it, and they their children.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        try:
            exit_code = process.wait(limit)
        except KeyboardInterrupt:
            stop(process)
            raise
        except subprocess.TimeoutExpired as reason:
            stop(process)
            raise NotMeasured(f"stopped after {limit:g} s; use a shorter form or --limit") from reason
        seconds = time.perf_counter() - began
        output.seek(0)
        lines = output.read().decode().strip().splitlines()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        figures = msgspec.json.decode(lines[-1] if lines else "", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise NotMeasured(f"exit code {exit_code}, the last line is no JSON object") from error
    return Entry(
        name=command.name,
        command=command.line,
        shortened=command.shortened,
        exit_code=exit_code,
        seconds=round(seconds, 1),
        processor_seconds=round(used.ru_utime + used.ru_stime - used_before.ru_utime - used_before.ru_stime, 1),
        load_average=(round(load_before, 2), round(os.getloadavg()[0], 2)),
        measured_at=measured_at,
        figures=figures,
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a command, so that it stops the servers it started, and kill what is left of it."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def describe_machine() -> Machine:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(memory / 1024**3),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
    )


def measured_commit() -> str:
    """Return the last commit that changed the package.

    Raises:
        SystemExit: The package has changes that are not committed.
    """
    if _git("status", "--porcelain", "--", "src"):
        raise SystemExit("src/ has changes that are not committed. Commit them before measuring.")
    return _git("log", "-1", "--format=%H", "--", "src")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def read(path: Path) -> Baseline | None:
    return msgspec.json.decode(path.read_bytes(), type=Baseline) if path.exists() else None


def write(path: Path, baseline: Baseline) -> None:
    """Write the file as a whole, so that an interruption leaves the former one. An entry is a line."""
    empty = msgspec.json.encode(msgspec.structs.replace(baseline, entries=[]))
    entries = b",\n".join(msgspec.json.encode(entry) for entry in baseline.entries)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(empty.removesuffix(b"]}") + b"\n" + entries + b"\n]}\n")
    partial.replace(path)


def run(
    commands: Sequence[Command],
    path: Path,
    commit: str,
    *,
    data: str = DATA,
    limit: float = LIMIT_SECONDS,
    again: bool = False,
) -> None:
    """Measure the commands that the file has no entry of, or all of them `again`.

    Raises:
        SystemExit: The file is of another commit.
    """
    for command in commands:
        baseline = read(path) or Baseline(commit, describe_machine(), [])
        if baseline.commit != commit:
            raise SystemExit(f"{path} is of commit {baseline.commit}, src/ of {commit}. Use --file.")
        if not again and any(entry.name == command.name for entry in baseline.entries):
            continue
        print(f"{command.name}: {command.line}", file=sys.stderr, flush=True)
        try:
            entry = measure(command, data, limit)
        except NotMeasured as failure:
            print(f"  not measured: {failure}", file=sys.stderr, flush=True)
            continue
        print(f"  {entry.seconds} s, exit code {entry.exit_code}", file=sys.stderr, flush=True)
        others = [other for other in baseline.entries if other.name != command.name]
        write(path, msgspec.structs.replace(baseline, entries=[*others, entry]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="measure only these commands")
    parser.add_argument("--list", action="store_true", help="print the commands and stop")
    parser.add_argument("--again", action="store_true", help="measure commands that have an entry")
    parser.add_argument("--file", type=Path, help="default: the newest file of benchmarks/baseline")
    parser.add_argument("--data", default=DATA, help=f"folder of recorded data (default: {DATA})")
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT_SECONDS,
        help=f"seconds that a command may take (default: {LIMIT_SECONDS})",
    )
    options = parser.parse_args()
    by_name = {command.name: command for command in COMMANDS}
    if unknown := [name for name in options.names if name not in by_name]:
        parser.error(f"unknown commands {', '.join(unknown)}. --list prints all names.")
    chosen = [by_name[name] for name in options.names] or list(COMMANDS)
    if options.list:
        for command in chosen:
            print(f"{command.name:24} {command.line}")
        return
    today = FOLDER / f"{datetime.now(UTC).date()}.json"
    path = options.file or max(FOLDER.glob("*.json"), default=today)
    run(
        chosen,
        path,
        measured_commit(),
        data=options.data,
        limit=options.limit,
        again=options.again,
    )


if __name__ == "__main__":
    main()
