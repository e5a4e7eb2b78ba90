"""Break the rules of docs/invariants.md one by one and check that the test of each one fails.

Run all with `python tests/mutations.py`, or some with `python tests/mutations.py L1 L2`. Each entry of
mutations.toml has the test that must fail and edits: file below src/bowerbird, text, replacement. The
edits are made in a copy of the package. A rule is proven if the test then fails; "text not found"
means that the code has changed and the entry needs another edit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("mutations.toml")


def table() -> dict[str, dict[str, Any]]:
    """Return the entries of mutations.toml by rule."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def prove(entry: dict[str, Any], source: Path) -> str:
    """Apply the edits of one entry to the package below `source`, run its test, restore; return the result."""
    originals: dict[Path, str] = {}
    try:
        for name, old, new in entry["edits"]:
            path = source / "bowerbird" / name
            text = path.read_text(encoding="utf-8")
            originals.setdefault(path, text)
            if text.count(old) != 1:
                return f"text not found once in {name}"
            path.write_text(text.replace(old, new), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--tb=no",
            "--timeout=100",
            entry["test"],
        ]
        environment = os.environ | {"PYTHONPATH": str(source)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
        return {0: "SURVIVED", 1: "caught"}.get(
            done.returncode, f"pytest ended with {done.returncode}"
        )
    finally:
        for path, text in originals.items():
            path.write_text(text, encoding="utf-8")


def main(rules: list[str]) -> int:
    entries = table()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "bowerbird", source / "bowerbird", ignore=ignored)
        for rule in rules or entries:
            result = prove(entries[rule], source)
            failures += result != "caught"
            print(f"{rule}: {result}  {entries[rule]['test']}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
