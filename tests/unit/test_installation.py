"""What `make install` relies on: locked versions without hosts, and scripts that run."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"[a-z0-9][a-z0-9._-]*==[^ ;]+( ; .+)?")


def lock(name: str) -> list[str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    return [line.split("  #")[0].rstrip() for line in lines if line and not line.lstrip().startswith("#")]


def distribution(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


@pytest.mark.parametrize("name", ["main.txt", "dev.txt"])
def test_every_line_of_a_lock_pins_one_version_and_names_no_host(name: str) -> None:
    assert [line for line in lock(name) if not PINNED.fullmatch(line)] == []
    assert "://" not in (ROOT / "requirements" / name).read_text()


def test_the_locks_cover_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    main, dev = ({distribution(line) for line in lock(name)} for name in ("main.txt", "dev.txt"))
    assert {distribution(one) for one in project["project"]["dependencies"]} <= main
    assert {distribution(one) for one in project["dependency-groups"]["dev"]} <= dev
    assert {distribution(one) for one in project["build-system"]["requires"]} <= main
    assert main <= dev


def test_both_locks_agree() -> None:
    """On versions; what tests need may be wanted on more systems than what the command needs."""
    main, dev = ({line.partition(" ;")[0] for line in lock(name)} for name in ("main.txt", "dev.txt"))
    assert main <= dev


def test_what_the_dashboard_draws_with_is_locked_by_hash_names_no_host_and_goes_into_the_wheel() -> None:
    text = (ROOT / "requirements" / "web" / "package-lock.json").read_text()
    packages = {name: told for name, told in json.loads(text)["packages"].items() if name}
    assert "://" not in text
    assert [name for name, told in packages.items() if not told["integrity"].startswith("sha512-")] == []
    fetched = runpy.run_path(str(ROOT / "requirements" / "web" / "fetch.py"))["WANTED"]
    assert {f"node_modules/{name}" for name in fetched} <= packages.keys()
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["artifacts"] == ["src/bowerbird/web/foreign/*"]
    named = {Path(file).name for files in fetched.values() for file in files}
    scripts = [path.read_text() for path in (ROOT / "src" / "bowerbird" / "web").rglob("*") if path.suffix in (".js", ".html")]
    used = {name for text in scripts for name in re.findall(r"/assets/foreign/([\w.-]+)", text)}
    assert used <= named | {"LICENCES.txt"}, "what pages load is fetched"
    assert named <= used, "and what is fetched is loaded"


@pytest.mark.parametrize("script", [".ci/run", "requirements/install.sh", "tests/browser/run.sh"])
def test_scripts_are_executable_and_parse(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    shell = "bash" if script == ".ci/run" else "sh"
    assert subprocess.run([shell, "-n", ROOT / script], check=False).returncode == 0


def install_with(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Runs the script on a machine that has this `python3` and nothing else: no uv, no other Python."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("sh", "dirname", "rm"):
        (programs / name).symlink_to(shutil.which(name) or name)
    (programs / "python3").write_text(f"#!/bin/sh\n{python}\n")
    (programs / "python3").chmod(0o755)
    (folder / "requirements").mkdir()
    shutil.copy(ROOT / "requirements" / "install.sh", folder / "requirements")
    command = [programs / "sh", "requirements/install.sh"]
    return subprocess.run(command, cwd=folder, env={"PATH": str(programs)}, capture_output=True, text=True, check=False)


def test_too_old_a_python_is_refused_with_advice(tmp_path: Path) -> None:
    done = install_with(tmp_path, "exit 1")
    assert done.returncode == 1
    assert "Python 3.11" in done.stderr
    assert "apt install" in done.stderr


def test_a_python_without_venv_is_refused_with_advice(tmp_path: Path) -> None:
    done = install_with(tmp_path, 'case "$2" in *ensurepip*) exit 1 ;; esac')
    assert done.returncode == 1
    assert "apt install python3-venv" in done.stderr
    assert not (tmp_path / ".venv").exists()
