"""Compare two versions of bowerbird on random stores.

    python -m tests.compare_stores --old ../old --new . --seeds 1..20

`--old` and `--new` are git worktrees (`git worktree add ../old COMMIT`). Each makes the stores with
its own code, in a process of its own; only `tests/golden` of this worktree runs in both. Their
outputs (status, completeness, card, history, exports, as data) are compared, and what differs is
listed. The exit code is 0 if nothing does, 1 if something does, and 2 if a side failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from golden.differences import differences, read_folder

TESTS = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--old", type=Path, required=True, help="the worktree to compare with")
    parser.add_argument(
        "--new", type=Path, default=TESTS.parent, help="the worktree to check; default: this one"
    )
    parser.add_argument(
        "--seeds", default="1..20", help="a number, or the first and the last: 1..20"
    )
    parser.add_argument(
        "--old-python",
        type=Path,
        help="default: that of the old worktree's .venv, or else this one",
    )
    parser.add_argument(
        "--new-python",
        type=Path,
        help="default: that of the new worktree's .venv, or else this one",
    )
    parser.add_argument(
        "--postgres", action="store_true", help="stores on PostgreSQL instead of SQLite"
    )
    parser.add_argument(
        "--every-format",
        action="store_true",
        help="exports in every format; takes three times as long",
    )
    parser.add_argument("--keep", type=Path, help="a folder in which the outputs of both stay")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="compare-") as temporary:
        folder = asked.keep or Path(temporary)
        options = [
            "--seeds",
            asked.seeds,
            *["--postgres"] * asked.postgres,
            *["--every-format"] * asked.every_format,
        ]
        sides = {
            "old": _started(asked.old, asked.old_python, folder / "old", options),
            "new": _started(asked.new, asked.new_python, folder / "new", options),
        }
        codes = {name: process.wait() for name, process in sides.items()}
        if any(codes.values()):
            print(f"no comparison: the processes ended with {codes}")
            return 2
        return _report(folder)


def _started(
    tree: Path, python: Path | None, out: Path, options: list[str]
) -> subprocess.Popen[bytes]:
    own = tree.resolve() / ".venv" / "bin" / "python"
    program = python or (own if own.exists() else Path(sys.executable))
    path = os.pathsep.join([str(tree.resolve() / "src"), str(TESTS)])
    command = [str(program), "-m", "golden.side", "--out", str(out.resolve()), *options]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, cwd=TESTS)


def _report(folder: Path) -> int:
    seeds = sorted(path.name for path in (folder / "new").iterdir())
    differing = 0
    for seed in seeds:
        found = differences(read_folder(folder / "old" / seed), read_folder(folder / "new" / seed))
        differing += bool(found)
        for text in found:
            print(f"\n{seed} {text}")
    print(f"\n{len(seeds)} stores, {differing} with differences")
    return int(differing > 0)
