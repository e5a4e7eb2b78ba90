"""A password in the address of a database is never shown, however it is written."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird import cli
from bowerbird.db.addresses import check_address, public, without_password
from bowerbird.errors import StoreError
from failures import raises_code
from marks import long

# Its letters are in no word of ours: whatever part of it is printed can be told.
PASSWORDS = st.text("ŷŵXZ/@#?%:& =+ü", min_size=4, max_size=12).filter(lambda text: len(re.findall("[ŷŵXZü]", text)) > 2)
MARKS = re.compile("[ŷŵXZü]")
PORT = 9
"""Nobody listens there."""


def addresses(password: str) -> list[str]:
    written = [password, quote(password, safe="")]
    whole = [f"postgresql://ada:{each}@127.0.0.1:{PORT}/crawls" for each in written]
    options = [f"postgresql://ada@127.0.0.1:{PORT}/crawls?password={each}" for each in written]
    # Without a host, what follows an @ reads as one.
    hostless, host = password.replace("@", ""), "host/crawls"
    wrong = [f"postgresql://ada:{hostless}", f"postgresq://ada:{password}@{host}", f"postgresql:/ada:{password}@{host}"]
    return whole + options + wrong


@given(PASSWORDS)
def test_what_is_public_of_an_address_holds_nothing_of_its_password(password: str) -> None:
    for address in addresses(password):
        assert not MARKS.search(public(address)), (address, public(address))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:hush@db.example:5432/crawls", "postgresql://db.example:5432/crawls"),
        ("postgresql://ada@/crawls?host=/run/postgresql", "postgresql:///crawls"),
        ("postgresql://ada:hu/sh@db.example/crawls", "postgresql://db.example/crawls"),
        ("postgresql://ada@db.example/crawls?password=a@hush", "postgresql://…"),
        ("postgresql://ada:hu?sh@db.example/crawls", "postgresql://…"),
        ("postgresql:/ada:XX://X@host/crawls", "…"),
        ("crawl.db", "crawl.db"),
        ("folder/some@place/crawl.db", "folder/some@place/crawl.db"),
    ],
)
def test_the_rest_of_an_address_is_shown_where_it_is_beyond_doubt(address: str, shown: str) -> None:
    assert public(address) == shown


@given(PASSWORDS)
def test_a_quoted_password_is_understood_whatever_is_in_it(password: str) -> None:
    check_address(f"postgresql://ada:{quote(password, safe='')}@[::1]:5432,other.example/crawls?sslmode=require")
    assert without_password(f"postgresql://ada:{quote(password, safe='')}@h/d", f"no: {password}") == "no: …"


@pytest.mark.parametrize("password", ["hu/sh", "hu#sh", "hu?sh", "12/34", "12?34"])
def test_an_address_whose_password_was_cut_is_refused_with_how_to_write_it(password: str) -> None:
    with raises_code(StoreError, "invalid_address") as caught:
        check_address(f"postgresql://ada:{password}@db.example/crawls")
    assert all(value in str(caught.value) for value in ("%2F", "%23", "%3F", "PGPASSWORD"))
    assert password not in str(caught.value)


COMMANDS = (
    ["status", "{address}"],
    ["gone", "{address}", "--json"],
    ["backup", "{address}", "to.db"],
    ["restore", "copy.db", "{address}"],
    ["doctor", "--database", "{address}"],
    ["crawl", "crawl.toml", "--json"],
)


@pytest.mark.parametrize("password", ["XX/ZXZ", "XX@ZXZ", "XX%ZXZ", *long("XX#ZXZ", "XX?ZXZ", "XX ZXZ", "ŷŵüXZ")])
def test_no_command_shows_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], password: str
) -> None:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy.db").touch()
    service = 'seeds = ["1"]\n[service]\nprovider = "mastodon"\nbase = "http://127.0.0.1:9"\n'
    for address in addresses(password):
        (tmp_path / "crawl.toml").write_text(f'flow = "timelines"\nstore = "{address}"\n{service}', "utf-8")
        for command in COMMANDS:
            assert cli.run([part.format(address=address) for part in command]) != 0
            shown = capfd.readouterr()
            words = shown.out + shown.err
            assert not MARKS.search(words), (command, address, words)
