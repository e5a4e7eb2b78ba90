"""The notebooks of the documentation run from their first cell to their last, and draw what they drew."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bowerbird.api.examples import EXAMPLES, make_example
from bowerbird.errors import UserError
from failures import raises_code

if TYPE_CHECKING:
    import nbformat

FOLDER = Path(__file__).parents[3] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def pictures(notebook: nbformat.NotebookNode) -> int:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize(
    "path",
    [path if path.stem == "cascade" else pytest.param(path, marks=pytest.mark.long) for path in NOTEBOOKS],
    ids=[path.stem for path in NOTEBOOKS],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::ResourceWarning")
def test_a_notebook_runs_and_shows_its_plots(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    # As for a reader who has activated the environment: the command is found by its name.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(path, as_version=4)
    shown = pictures(notebook)
    assert shown >= 1
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(notebook, timeout=280, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert pictures(notebook) == shown
    printed = [output.text for cell in notebook.cells for output in cell.get("outputs", ()) if output.output_type == "stream"]
    assert not [text for text in printed if "not found" in text]


def test_there_is_a_notebook_for_every_example() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(EXAMPLES)


def test_no_notebook_tells_of_the_machine_it_was_run_on() -> None:
    for path in NOTEBOOKS:
        text = path.read_text("utf-8")
        assert not any(place in text for place in ("/tmp/", "/home/", "/root/", "Warning")), path


def test_what_is_no_example_is_named_and_nothing_is_overwritten(tmp_path: Path) -> None:
    with raises_code(UserError, "unknown_name") as caught:
        make_example("nothing", tmp_path / "a.db")
    assert "'nothing'" in str(caught.value)
    (tmp_path / "mine.db").write_text("mine")
    with raises_code(UserError, "already_exists") as caught:
        make_example("event", tmp_path / "mine.db")
    assert "mine.db" in str(caught.value)
    assert (tmp_path / "mine.db").read_text() == "mine"
