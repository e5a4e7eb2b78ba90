"""Rows in plain files: what is written can be read back exactly, whatever people wrote, and files can be gone on with."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from bowerbird.errors import DiskFull, UserError
from bowerbird.export.rows.cells import cell, original, safe, told_time
from bowerbird.export.rows.files import open_rows
from bowerbird.export.rows.flat import page_post, page_user
from bowerbird.export.rows.shapes import FOLLOWS, POSTS, USERS, Column, Kind, Row, Shape
from bowerbird.model import Media, Place, Poll, PollOption, Post, PostKind, User
from failures import raises_code

AT = datetime(2026, 1, 5, 12, 30, 0, 123456, tzinfo=UTC)
SHAPE = Shape("things", (Column("id"), Column("text"), Column("n", Kind.NUMBER), Column("tags", Kind.LIST)))
HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@cmd",
    "\t=1",
    " =1",
    "\r\n=HYPERLINK(1)",
    "\uff1d1+1",
    "'already",
    "''",
    'a "quoted" text, with commas; and semicolons',
    "lines\r\nand\rmore\nlines",
    "\u202eright to left\u202c",
    "عربي",
    "\x00NUL",
    "👩‍👩‍👧",
    "",
    "x" * 1_000_000,
    "plain",
    '"',
    "\x1f|",
]


def row(text: str) -> Row:
    return ("1", text, -5, ("a", "b|c"))


def read_csv(path: Path) -> list[list[str]]:
    usual = csv.field_size_limit(10_000_000)
    try:
        return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
    finally:
        csv.field_size_limit(usual)


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_comes_back_from_csv_and_no_cell_is_a_formula(text: str, tmp_path: Path) -> None:
    with open_rows(tmp_path / "a.csv", SHAPE) as file:
        file.write([row(text)])
    (header, read) = read_csv(tmp_path / "a.csv")
    assert header == ["id", "text", "n", "tags"]
    assert original(read[1]) == text
    assert not read[1].lstrip().startswith(("=", "+", "-", "@", "\uff1d"))
    assert read[2:] == ["-5", "a|b%7Cc"]


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_comes_back_from_json_lines(text: str, tmp_path: Path) -> None:
    with open_rows(tmp_path / "a.jsonl", SHAPE) as file:
        file.write([row(text), row("")])
    first, _ = (tmp_path / "a.jsonl").read_bytes().splitlines()
    assert msgspec.json.decode(first) == {"id": "1", "text": text, "n": -5, "tags": ["a", "b|c"]}


def test_a_lone_surrogate_becomes_a_question_mark(tmp_path: Path) -> None:
    for ending in ("csv", "jsonl"):
        with open_rows(tmp_path / f"a.{ending}", SHAPE) as file:
            file.write([row("a\ud800b")])
        assert "a?b" in (tmp_path / f"a.{ending}").read_text(encoding="utf-8")


def test_what_is_unknown_differs_from_an_empty_text(tmp_path: Path) -> None:
    with open_rows(tmp_path / "a.csv", SHAPE) as file:
        file.write([("1", None, None, ()), ("2", "", 0, ())])
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()[1:] == ['"1",,,""', '"2","",0,""']


def test_times_are_told_in_utc_and_in_the_order_of_their_texts() -> None:
    away = AT.astimezone(timezone(timedelta(hours=9)))
    assert told_time(AT) == told_time(away) == "2026-01-05T12:30:00.123456Z"
    assert told_time(datetime(800, 1, 1, tzinfo=UTC)) < told_time(AT)


def test_truth_values_are_words() -> None:
    assert [cell(True), cell(False), cell(None), cell(1.5)] == ["true", "false", "", "1.5"]


def test_safe_texts_stay_as_they_are() -> None:
    assert safe("hello = world") == "hello = world"


@pytest.mark.parametrize("ending", ["csv", "jsonl", "txt"])
def test_a_file_is_gone_on_with_after_its_last_whole_row(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    with open_rows(path, SHAPE) as file:
        file.write([row("one\ntwo")])
    whole = path.read_bytes()
    path.write_bytes(whole + b'"2","torn \n in the midd')
    with open_rows(path, SHAPE, append=True) as file:
        file.write([row("last")])
    if ending == "csv":
        assert [read[1] for read in read_csv(path)[1:]] == ["one\ntwo", "last"]
    assert path.read_bytes().startswith(whole)
    assert path.read_bytes().endswith(b"\n")


def test_a_file_with_nothing_whole_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'"id","te')
    with open_rows(path, SHAPE, append=True) as file:
        file.write([row("x")])
    assert [read[1] for read in read_csv(path)] == ["text", "x"]


def test_a_file_with_other_columns_is_not_added_to(tmp_path: Path) -> None:
    with open_rows(tmp_path / "a.csv", SHAPE) as file:
        file.write([row("x")])
    with raises_code(UserError, "unsupported") as caught:
        open_rows(tmp_path / "a.csv", USERS, append=True)
    assert "a.csv" in caught.value.problem


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("mine", encoding="utf-8")
    with raises_code(UserError, "already_exists") as caught:
        open_rows(tmp_path / "a.csv", SHAPE)
    assert "--append" in caught.value.advice


def test_an_ending_that_says_nothing_is_asked_about(tmp_path: Path) -> None:
    with raises_code(UserError, "unknown_format") as caught:
        open_rows(tmp_path / "a.dat", SHAPE)
    assert "--format" in caught.value.advice
    with open_rows(tmp_path / "a.dat", SHAPE, format="ids") as file:
        file.write([row("x"), ("two\nlines", "", 0, ())])
    assert (tmp_path / "a.dat").read_text(encoding="utf-8") == "1\ntwo\\nlines\n"


def test_a_full_disk_is_said_so() -> None:
    with raises_code(DiskFull, "disk_full") as caught:
        open_rows(Path("/dev/full"), SHAPE, format="csv")
    assert "/dev/full" in caught.value.problem


def test_standard_output_has_json_lines(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_rows(None, SHAPE) as file:
        file.write([row("x")])
    assert msgspec.json.decode(capfdbinary.readouterr().out)["text"] == "x"


def test_columns_of_an_input_are_carried_through(tmp_path: Path) -> None:
    shape = FOLLOWS.with_columns(["group"])
    assert shape.names[:2] == ("group", "source_id")
    with raises_code(UserError, "already_exists") as caught:
        FOLLOWS.with_columns(["network"])
    assert "network" in caught.value.problem


def test_columns_of_an_input_may_be_called_anything(tmp_path: Path) -> None:
    names = ['the "best" name', "class", "a b", "back\\slash"]
    path = tmp_path / "things.jsonl"
    with open_rows(path, SHAPE.with_columns(names)) as file:
        file.write([(*names, "1", "hello", 3, ("x",))])
    told = msgspec.json.decode(path.read_bytes())
    assert told == {**{name: name for name in names}, "id": "1", "text": "hello", "n": 3, "tags": ["x"]}


def test_a_post_of_a_page_becomes_a_row() -> None:
    author = User(id="did:a", key="did:a", handle="alice.example")
    post = Post(
        id="at://did:a/app.bsky.feed.post/1",
        key="1",
        author="did:a",
        kind=PostKind.REPLY,
        created_at=AT,
        text="Hello",
        likes=3,
        tags=("Rain",),
        mentions=("did:b",),
        media=(Media(id="m", kind="image", url="https://example.org/m.jpg"),),
        place=Place(name="Porto", longitude=-8.6, latitude=41.1),
        poll=Poll(options=(PollOption("yes", 1),)),
    )
    told = dict(zip(POSTS.names, page_post(post, "bluesky", "bsky", {"did:a": author}), strict=True))
    assert told["author_handle"] == "alice.example"
    assert told["url"] == "https://bsky.app/profile/did:a/post/1"
    assert (told["tags"], told["media"], told["place"]) == (("rain",), ("https://example.org/m.jpg",), "Porto")
    assert msgspec.json.decode(told["poll"]) == {"options": [{"title": "yes", "votes": 1}]}


def test_an_account_of_a_page_becomes_a_row() -> None:
    told = dict(zip(USERS.names, page_user(User(id="u", key="1", handle="ann", labels=("bot",)), "x", "x"), strict=True))
    assert (told["id"], told["handle"], told["labels"], told["network"]) == ("u", "ann", ("bot",), "x")
