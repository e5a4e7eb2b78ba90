"""`bowerbird people`, as it is typed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.reports.actions import read_actions
from bowerbird.store.opening import open_store
from bowerbird.web.security import people
from bowerbird.web.security.passwords import Cost, Passwords

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
    assert cli.run(["people", "remove", "anna", "--store", store]) == 2
    assert "only admin" in capsys.readouterr().err
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
    for words, said in (
        (("add", "anna"), "--password-file"),
        (("add", "anna", "--password-file", str(tmp_path / "weak")), "from 10 to"),
        (("add", "anna", "--role", "king", "--password-file", str(tmp_path / "secret")), "read, steer, admin"),
        (("add", "anna", "--role", "read", "--password-file", str(tmp_path / "secret")), "first person must be an admin"),
        (("add", "a b", "--password-file", str(tmp_path / "secret")), "cannot name a person"),
        (("add", "anna", "--password-file", str(tmp_path / "nothing")), "cannot read the password"),
        (("remove", "anna"), "there are: none yet"),
    ):
        assert cli.run(["people", *words, "--store", store]) == 2, words
        assert said in capsys.readouterr().err
    assert cli.run(["people", "list", "--store", store]) == 0
    assert "bowerbird people add NAME" in capsys.readouterr().out
