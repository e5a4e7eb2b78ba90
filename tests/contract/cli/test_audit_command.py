"""`bowerbird audit posts` over real HTTP: what was lost is told, and the dataset card tells of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from command_errors import refused
from simulated_server import running

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database


async def _write(store: str, *statements: str) -> None:
    database = await open_database(store, RealClock())
    async with database.transaction() as tx:
        for statement in statements:
            await tx.execute(statement)
    await database.close()


def test_what_was_lost_is_told_and_stands_in_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))

    def audited(*more: str) -> dict[str, Any]:
        capfd.readouterr()
        assert cli.run(["audit", "posts", "c.toml", "--accounts", "5", "--seed", "1", "--json", *more]) == 0
        told: dict[str, Any] = json.loads(capfd.readouterr().out.splitlines()[-1])
        return told

    with running(dialect="bluesky") as server:
        server.crawl_file(tmp_path / "c.toml", seeds=8, more="stop.duration = '4s'")
        refused("audit", "posts", "c.toml", code="unknown_crawl")
        assert cli.run(["crawl", "c.toml", "-q"]) == 0
        # As if the crawl had known them for long: what they wrote before counts.
        asyncio.run(_write("c.db", "update tasks set added_at = added_at - 864000000000"))
        whole = audited()
        assert (whole["accounts"] > 0, whole["found"][0]["posts"]["share"]) == (True, 1.0)
        asyncio.run(_write("c.db", "delete from posts where post_no % 2 = 0"))
        lost = audited()
        assert (lost["found"][0]["wrote"], lost["accounts"]) == (whole["found"][0]["wrote"], whole["accounts"])
        assert 0.2 < lost["found"][0]["posts"]["share"] < 0.8
        assert cli.run(["audit", "posts", "c.toml", "--accounts", "5", "--seed", "1"]) == 0
    shown = capfd.readouterr().out
    assert all(value in shown for value in ("75.2 %", "80.2 %"))
    assert cli.run(["card", "c.db", "-o", "card"]) == 0
    card = (tmp_path / "card" / "card.md").read_text(encoding="utf-8")
    # Calls of audits are the crawl's own; nothing else of them is left.
    assert "audit 1 of c" not in card
    assert [line for line in card.splitlines() if "random" in line and str(lost["accounts"]) in line]
    assert f"{lost['found'][0]['posts']['share'] * 100:.1f} %" in card
