"""`bowerbird flow`: list, show and check as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bowerbird.cli import run as run_command
from bowerbird.flows.built_in import builtin_flows
from failures import command_error, json_error


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_command(["flow", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list_names_every_flow(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--json")
    flows = json.loads(out.splitlines()[-1])["flows"]
    assert (code, [flow["name"] for flow in flows]) == (0, sorted(builtin_flows()))
    assert "hydrate" in run(capsys, "list")[1]


def test_show_draws_text_and_image(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    image = tmp_path / "graph.svg"
    code, out, _ = run(capsys, "show", "graph", "--image", str(image))
    assert code == 0
    assert "seeds ──▶ │ profile" in out
    assert image.read_text("utf-8").startswith("<svg ")


def test_show_tells_machines_everything(capsys: pytest.CaptureFixture[str]) -> None:
    flow = json.loads(run(capsys, "show", "timelines", "--json")[1].splitlines()[-1])
    assert [edge["wakes"] for edge in flow["edges"]] == [False, False, True]


def test_show_refuses_other_image_formats_and_says_why(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = command_error("flow", "show", "graph", "--image", tmp_path / "graph.png", code="unknown_format")
    assert str(tmp_path / "graph.png") in error.problem
    assert ".svg" in error.advice


def test_an_unknown_flow_is_met_with_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "show", "grap", "--json")
    assert code == 2
    error = json_error(err)
    assert error.code == "unknown_flow"
    assert "'graph'" in error.problem


def test_check_accepts_flow_and_crawl_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flow, crawl = tmp_path / "flow.toml", tmp_path / "crawl.toml"
    flow.write_text(builtin_flows()["graph"], "utf-8")
    crawl.write_text(
        'flow = "flow.toml"\nseeds = ["1"]\n[service]\nprovider = "twitter_v1"\nbase = "http://127.0.0.1:1"\n', "utf-8"
    )
    assert json.loads(run(capsys, "check", str(flow), "--json")[1].splitlines()[-1])["kind"] == "flow file"
    code, out, _ = run(capsys, "check", str(crawl), "--json")
    assert (code, json.loads(out.splitlines()[-1])["kind"]) == (0, "crawl file")


def test_check_takes_built_in_flows_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "timelines", "--json")
    assert (code, json.loads(out.splitlines()[-1])["kind"]) == (0, "built-in flow")
    assert "'timelines'" in command_error("flow", "check", "timelin", code="unknown_flow").problem


def test_check_names_the_line_of_a_mistake(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flow = tmp_path / "flow.toml"
    flow.write_text(builtin_flows()["hydrate"].replace('ranker = "fifo"', 'ranker = "fife"'), "utf-8")
    code, _, err = run(capsys, "check", str(flow), "--json")
    assert code == 2
    error = json_error(err)
    assert error.code == "unknown_name"
    assert error.problem.startswith(f"{flow}:7: ")
    assert all(value in error.problem for value in ("'fife'", "'fifo'"))
