"""`bowerbird people`, as it is typed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import UserError
from bowerbird.reports.actions import read_actions
from bowerbird.store.opening import open_store
from bowerbird.web.security import people
from bowerbird.web.security.passwords import Cost, Passwords
from failures import command_error

SECRET = "a good long password"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    (tmp_path / "secret").write_text(f"{SECRET}\nsecond line\n")
    path = str(tmp_path / "crawl.db")

    async def make() -> None:
        async with open_store(path, RealClock()):
            pass

    asyncio.run(make())
    return path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert cli.run(["people", *words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_people_are_added_changed_and_removed(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ("--password-file", str(tmp_path / "secret"), "--store", store)
    assert told(capsys, "add", "Anna", *file) == {"name": "anna", "role": "admin"}
    assert told(capsys, "add", "ben", *file)["role"] == "read"
    assert told(capsys, "role", "ben", "steer", "--store", store)["role"] == "steer"
    assert told(capsys, "password", "ben", *file) == {"name": "ben"}
    shown = told(capsys, "list", "--store", store)["people"]
    assert isinstance(shown, list)
    assert [(each["name"], each["role"]) for each in shown] == [("anna", "admin"), ("ben", "steer")]
    assert SECRET not in json.dumps(shown)
    assert "anna" in command_error("people", "remove", "anna", "--store", store, code="refused").problem
    assert told(capsys, "remove", "ben", "--store", store) == {"removed": "ben"}
    asyncio.run(_check(store))


async def _check(store: str) -> None:
    database = await open_database(store, RealClock())
    async with database.reading() as tx:
        (anna,) = await people.listed(tx)
        done = [(each.who, each.what, each.subject) for each in await read_actions(tx)]
    await database.close()
    assert anna.hash.startswith("$argon2id$v=19$m=65536,t=3,p=1$")
    assert await Passwords(RealClock(), Cost()).fits(anna.hash, SECRET)
    assert done[0] == ("terminal", "remove person", "ben")
    assert len(done) == 5


def test_mistakes_are_told_with_what_to_do(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "weak").write_text("1234\n")
    for words, code, named in (
        (("add", "anna"), "needs_password", "--password-file"),
        (("add", "anna", "--password-file", str(tmp_path / "weak")), "weak_password", "10"),
        (("add", "anna", "--role", "king", "--password-file", str(tmp_path / "secret")), "unknown_name", "read, steer, admin"),
        (("add", "anna", "--role", "read", "--password-file", str(tmp_path / "secret")), "refused", "admin"),
        (("add", "a b", "--password-file", str(tmp_path / "secret")), "invalid", "'a b'"),
        (("add", "anna", "--password-file", str(tmp_path / "nothing")), "credential_unreadable", str(tmp_path / "nothing")),
        (("remove", "anna"), "unknown_person", "'anna'"),
    ):
        error = command_error("people", *words, "--store", store, code=code)
        assert isinstance(error, UserError), words
        assert named in str(error)
    assert cli.run(["people", "list", "--store", store]) == 0
    assert "bowerbird people add NAME" in capsys.readouterr().out
