"""Whom a one-line command asks, and what it is asked about, as far as that can be told without asking anybody."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from bowerbird.cli.everyday.inputs import read_inputs
from bowerbird.cli.everyday.where import Where, recognised, services_of, told
from bowerbird.cli.everyday.wishes import Wish
from bowerbird.errors import UserError
from bowerbird.reports.blocks.moments import end_moment, moment
from failures import raises_code

BLUESKY = Where("bluesky", "https://public.api.bsky.app")
X = Where("x", "https://api.x.com")
WEIBO = Where("weibo", "https://api.weibo.com")


@pytest.mark.parametrize(
    ("written", "where"),
    [
        ("@alice.bsky.social", BLUESKY),
        ("alice.example.org", BLUESKY),
        ("did:plc:z72i7hdynmk6r22z27h6tvur", BLUESKY),
        ("at://did:plc:z72i7hdynmk6r22z27h6tvur/app.bsky.feed.post/3l6oveex3ii2l", BLUESKY),
        ("https://bsky.app/profile/alice.bsky.social/post/3l6oveex3ii2l", BLUESKY),
        ("@alice@mastodon.social", Where("mastodon", "https://mastodon.social")),
        ("alice@Fosstodon.org", Where("mastodon", "https://fosstodon.org")),
        ("https://mastodon.social/@alice/1234", Where("mastodon", "https://mastodon.social")),
        ("https://x.com/alice", X),
        ("https://twitter.com/alice/status/1", X),
        ("https://www.weibo.com/u/1404376560", WEIBO),
        ("x:123", X),
        ("weibo:123", WEIBO),
        ("@alice", None),
        ("12345", None),
        ("flood", None),
    ],
)
def test_handles_and_addresses_tell_their_network(written: str, where: Where | None) -> None:
    assert recognised(written) == where


@pytest.mark.parametrize(
    ("on", "provider", "where"),
    [
        ("bluesky", None, BLUESKY),
        ("X", None, X),
        ("mastodon.social", None, Where("mastodon", "https://mastodon.social")),
        ("bsky.app", None, BLUESKY),
        ("https://social.example.org/", None, Where("mastodon", "https://social.example.org")),
        ("http://127.0.0.1:8000", "weibo", Where("weibo", "http://127.0.0.1:8000")),
    ],
)
def test_what_on_names(on: str, provider: str | None, where: Where) -> None:
    assert told(on, provider) == where


@pytest.mark.parametrize(
    ("on", "provider", "code", "named"),
    [
        ("mastodon", None, "needs_option", "--on mastodon.social"),
        ("bluski", None, "unknown_network", "'bluesky'"),
        ("http://me:secret@127.0.0.1", None, "invalid_address", "--on "),
        ("http://127.0.0.1:1", "blusky", "unknown_provider", "'blusky'"),
    ],
)
def test_what_on_cannot_be_is_explained(on: str, provider: str | None, code: str, named: str) -> None:
    with pytest.raises(UserError) as caught:
        told(on, provider)
    assert caught.value.code == code
    assert named in str(caught.value)


def test_what_could_be_anywhere_is_asked_about_nowhere() -> None:
    with raises_code(UserError, "unknown_network") as caught:
        services_of(["@alice"], "timeline")
    assert "'@alice'" in caught.value.problem
    assert all(value in caught.value.advice for value in ("@alice.bsky.social", "--on bluesky", "--on mastodon.social"))


def test_accounts_of_several_servers_of_mastodon_are_asked_about_at_their_own() -> None:
    found = services_of(["@a@one.example", "@b@two.example", "@c@one.example"], "timeline")
    assert [each.host for each in found] == ["one.example", "two.example"]


def test_one_command_asks_one_network() -> None:
    with raises_code(UserError, "ambiguous") as caught:
        services_of(["@a.bsky.social", "@a@one.example"], "timeline")
    assert all(value in caught.value.problem for value in ("'@a.bsky.social'", "bluesky", "'@a@one.example'", "mastodon"))


def test_a_day_is_wholly_within_until() -> None:
    assert (end_moment("2026-01-31") - moment("2026-01-31")).days == 1
    assert end_moment("2026-01-31T12:00") == moment("2026-01-31T12:00+00:00")
    for beyond in ("9999-12-31", "0001-01-01T00:00+14:00"):
        with raises_code(UserError, "invalid") as caught:
            end_moment(beyond)
        assert repr(beyond) in caught.value.problem


@pytest.mark.parametrize(
    ("text", "column", "code", "named"),
    [
        ("", "handle", "missing_value", "users.csv"),
        ("name,handel\na,b\n", "handle", "unknown_name", "'handel'"),
        ("a,b,a\n", "b", "already_exists", "'a'"),
        ("handle\n@a\n", None, "ambiguous", "--column 'handle'"),
        (b"\xff\xfehandle", "handle", "file_damaged", "users.csv"),
    ],
)
def test_a_broken_table_is_explained(tmp_path: Path, text: str | bytes, column: str | None, code: str, named: str) -> None:
    file = tmp_path / "users.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(UserError) as caught:
        read_inputs(Wish(command="timeline", file=str(file), column=column), tmp_path)
    assert caught.value.code == code
    assert named in str(caught.value)


def test_a_table_with_semicolons_has_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "users.csv"
    file.write_text("\ufeffhandle;group\n@a;one, two\n", "utf-8")
    inputs = read_inputs(Wish(command="timeline", file=str(file), column="handle"), tmp_path)
    assert list(inputs.rows()) == [("@a", {"handle": "@a", "group": "one, two"})]


def test_inputs_that_are_not_there_are_explained(tmp_path: Path) -> None:
    with raises_code(UserError, "file_not_found") as caught:
        read_inputs(Wish(command="users", file=str(tmp_path / "none.txt")), tmp_path)
    assert str(tmp_path / "none.txt") in caught.value.problem
    with raises_code(UserError, "needs_option") as caught:
        read_inputs(Wish(command="users"), tmp_path)
    assert "`bowerbird users`" in caught.value.problem
    assert "-i FILE" in caught.value.advice
    (tmp_path / "ids.txt").write_text("1\n")
    with pytest.raises(UserError) as caught:
        read_inputs(Wish(command="users", inputs=(str(tmp_path / "ids.txt"),)), tmp_path)
    assert caught.value.code == "needs_option"


def test_two_commands_that_read_their_pipes_at_once_do_not_mix_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Piped(io.BytesIO):
        """A pipe whose end comes after another command has read its own."""

        def __init__(self, text: bytes, meanwhile: Piped | None = None) -> None:
            super().__init__(text)
            self._meanwhile = meanwhile
            self.read_by_now: list[str] = []

        def read(self, size: int | None = -1, /) -> bytes:
            if self._meanwhile is not None and self.tell() > 1:
                other, self._meanwhile = self._meanwhile, None
                self.read_by_now = piped(other)
            return super().read(size)

    def piped(pipe: Piped) -> list[str]:
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdin", io.TextIOWrapper(pipe))
            return list(read_inputs(Wish(command="hydrate", inputs=("-",)), tmp_path).seeds)

    first = Piped(b"1\n2\n", Piped(b"3\n4\n5\n"))
    assert piped(first) == ["1", "2"]
    assert first.read_by_now == ["3", "4", "5"]
    assert not list(tmp_path.glob("*.part"))
