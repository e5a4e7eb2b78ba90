"""The package as people install it: the wheel alone, in an environment of its own, runs the demo and says what it lacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Without anything of the checkout on the path."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=clean, cwd=ROOT)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_wheel_runs_the_demo_in_a_fresh_environment(tmp_path: Path) -> None:
    # Not by pip, which an environment made by uv does not have.
    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("bowerbird-*.whl")
    with ZipFile(wheel) as packed:
        inside = {name.rpartition("/")[2] for name in packed.namelist() if name.startswith("bowerbird/web/")}
    # Whoever installs it needs no npm.
    assert {"style.css", "layout.html", "uPlot.iife.min.js", "countries-110m.json", "LICENCES.txt"} <= inside
    assert run(sys.executable, "-m", "venv", tmp_path / "venv").returncode == 0
    python, command = tmp_path / "venv" / "bin" / "python", tmp_path / "venv" / "bin" / "bowerbird"
    locked = ROOT / "requirements" / "main.txt"
    installed = run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "-c", locked, wheel)
    assert installed.returncode == 0, installed.stderr
    home = str(tmp_path / "home")
    demo = run(command, "demo", "--seconds", "8", "--json", BOWERBIRD_HOME=home)
    assert demo.returncode == 0, demo.stderr
    told = json.loads(demo.stdout.splitlines()[-1])
    # What is heavy is left out, and one sentence says what to install.
    plot = run(command, "plot", "volumes", told["database"], "-o", tmp_path / "v.svg", BOWERBIRD_HOME=home)
    assert plot.returncode == 2
    assert "pip install 'bowerbird[export]'" in plot.stderr
