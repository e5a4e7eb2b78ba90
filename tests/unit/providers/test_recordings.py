"""Recorded exchanges: which facet reads them, what is understood, and what nobody reads."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from bluesky_payloads import ALICE, BOB, actor, view
from provider_payloads import account, status, tweet
from typer.testing import CliRunner
from weibo_payloads import weibo_post

from bowerbird.cli.commands.trying.evaluate import app
from bowerbird.errors import UserError
from bowerbird.evaluate.recordings import evaluate_recordings
from failures import raises_code

DATA = Path(__file__).parents[4] / "shared" / "data"


def call(uri: str, body: Any, code: int = 200, method: str = "GET") -> dict[str, Any]:
    text = body if isinstance(body, dict) and "base64_string" in body else {"string": json.dumps(body)}
    return {
        "request": {"method": method, "uri": f"https://m.example{uri}", "headers": {}, "body": None},
        "response": {
            "status": {"code": code, "message": ""},
            "headers": {"Date": ["Mon, 05 Jan 2026 12:00:00 GMT"]},
            "body": text,
        },
    }


def figures(folder: Path, *calls: dict[str, Any]) -> dict[str, Any]:
    (folder / "below").mkdir()
    (folder / "below" / "cassette.json").write_text(json.dumps({"version": 1, "interactions": calls}))
    return evaluate_recordings(folder)


def test_reads_become_items_of_the_provider_that_their_path_tells(tmp_path: Path) -> None:
    found = figures(
        tmp_path,
        call("/api/v1/accounts/1/statuses?limit=2", [status("5"), status("4")]),
        call("/api/v1/accounts/1/followers", [account("7")]),
        call("/1.1/statuses/user_timeline.json?screen_name=alice", [tweet("9")]),
        call("/2/tweets?ids=20", {"data": [{"id": "20", "text": "hello", "author_id": "12"}]}),
        call("/2/statuses/user_timeline.json?uid=1", {"statuses": [weibo_post()]}),
        call("/api/v1/statuses/3", {"error": "Record not found"}, 404),
    )
    assert (found["calls"], found["read_calls"], found["unmapped"], found["quarantined"]) == (6, 6, 0, 0)
    assert (found["posts"], found["relations"], found["gone"]) == (5, 1, 1)
    assert found["outcomes"] == {"not_found": 1, "ok": 5}


@pytest.mark.parametrize("key", ["1", "01F8MH1H7YV1Z7D2C8K2730QBF", "9hntbDjyCMwYaAMgES", "AUBQk8p2Ng7Ek4fzUm"])
def test_keys_are_whatever_a_server_writes(tmp_path: Path, key: str) -> None:
    found = figures(
        tmp_path,
        call(f"/api/v1/accounts/{key}", account(key)),
        call(f"/api/v1/accounts/{key}/", account(key)),
        call(f"/api/v1/accounts/{key}/followers", [account("7")]),
        call(f"/api/v1/statuses/{key}", status(key)),
        call(f"/api/v1/statuses/{key}", {"error": "Record not found"}, 404),
        call(f"/api/v1/statuses/{key}/context", {"ancestors": [], "descendants": [status("8")]}),
        call("/api/v1/accounts/relationships?id[]=1", []),
        call("/api/v1/accounts/familiar_followers?id[]=1", []),
        call("/2/users/by/username/alice", {"data": {"id": "1", "username": "alice"}}),
    )
    assert (found["unmapped"], found["quarantined"], found["read_calls"]) == (0, 0, 7)
    assert (found["posts"], found["relations"], found["gone"], found["outcomes"]) == (2, 1, 1, {"not_found": 1, "ok": 6})


def test_calls_of_bluesky_are_read_too(tmp_path: Path) -> None:
    found = figures(
        tmp_path,
        call(f"/xrpc/app.bsky.feed.getAuthorFeed?actor={ALICE}", {"feed": [{"post": view()}]}),
        call(f"/xrpc/app.bsky.graph.getFollowers?actor={BOB}", {"followers": [actor(ALICE)], "subject": actor(BOB)}),
        call("/xrpc/app.bsky.actor.getPreferences", {}),
    )
    assert (found["unmapped"], found["posts"], found["relations"], found["read_calls"]) == (0, 1, 1, 2)


def test_writes_and_streams_are_counted_apart_and_the_rest_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"kind":"commit"}\n{"kind":"identity"}\n')
    found = figures(
        tmp_path,
        call("/api/v1/statuses", {}, method="POST"),
        call("/api/v1/streaming/user", ""),
        call("/api/v1/notifications/123456", {}),
        call("/api/v2/instance/", {}),
        call("/2/lists/84839422", {}),
    )
    assert (found["calls"], found["writes"], found["stream_events"], found["not_reads"], found["read_calls"]) == (7, 1, 3, 4, 0)
    assert {path for paths in found["besides"].values() for path in paths} == {
        "/api/v1/notifications/N",
        "/api/v2/instance/",
        "/2/lists/N",
    }


def test_what_nobody_knows_or_cannot_read_is_unmapped(tmp_path: Path) -> None:
    found = figures(tmp_path, call("/api/v9/secrets", []), call("/api/v1/accounts/1/statuses", {"not": "a list"}))
    assert found["unmapped"] == 2
    unknown, unreadable = found["unmapped_calls"]
    assert "/api/v9/secrets" in unknown
    assert "statuses" in unreadable


def test_one_broken_item_is_quarantined_and_named(tmp_path: Path) -> None:
    found = figures(tmp_path, call("/api/v1/timelines/public", [status("5"), {"id": "4"}]))
    assert (found["posts"], found["quarantined"], found["unmapped"]) == (1, 1, 0)
    assert "below/cassette.json" in found["quarantined_calls"][0]


def test_answers_of_which_nothing_may_be_kept_are_told_apart(tmp_path: Path) -> None:
    found = figures(tmp_path, call("/api/v1/timelines/public", [status("5", visibility="private")]))
    assert (found["posts"], found["withheld_calls"], found["unmapped"]) == (0, 1, 0)


def test_fields_that_no_shape_reads_are_counted_by_their_path(tmp_path: Path) -> None:
    sent = status("5", card={"url": "x"}, tags=[{"name": "a", "url": "u"}, {"name": "b", "url": "u"}])
    unknown = figures(tmp_path, call("/api/v1/timelines/public", [sent]))["unknown_fields"]
    assert unknown["post.tags.url"] == 2
    assert unknown["post.card"] == 1
    assert unknown["user.locked"] == 1
    assert "post.card.url" not in unknown
    assert not any(name.startswith("post.account.") for name in unknown)


def test_a_compressed_body_in_base_64_is_read(tmp_path: Path) -> None:
    packed = base64.b64encode(gzip.compress(json.dumps([status("5")]).encode())).decode()
    assert figures(tmp_path, call("/api/v1/timelines/public", {"base64_string": packed}))["posts"] == 1


def test_a_folder_without_recordings_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    with raises_code(UserError, "missing_value") as caught:
        evaluate_recordings(tmp_path)
    assert str(tmp_path) in caught.value.problem
    with raises_code(UserError, "file_not_found") as caught:
        evaluate_recordings(tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in caught.value.problem


def test_a_cassette_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with raises_code(UserError, "file_damaged") as caught:
        figures(tmp_path, {"request": {}})
    assert "cassette.json" in caught.value.problem


def test_the_command_ends_with_one_json_object_and_says_by_its_code_what_is_missing(tmp_path: Path) -> None:
    figures(tmp_path, call("/api/v1/timelines/public", [status("5")]))
    good = CliRunner().invoke(app, ["recordings", str(tmp_path), "--json"])
    assert good.exit_code == 0
    assert json.loads(good.stdout.splitlines()[-1])["items"] == 2
    (tmp_path / "bad.json").write_text(json.dumps({"interactions": [call("/api/v9/secrets", [])]}))
    assert CliRunner().invoke(app, ["recordings", str(tmp_path), "--json"]).exit_code == 1


@pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not on this machine")
@pytest.mark.parametrize(("folder", "least"), [("recordings-x", 2_000), ("recordings-mastodon", 400)])
def test_every_recorded_read_of_real_servers_is_understood(folder: str, least: int) -> None:
    found = evaluate_recordings(DATA / folder)
    assert (found["unmapped"], found["quarantined"]) == (0, 0), found["unmapped_calls"]
    assert found["items"] >= least
