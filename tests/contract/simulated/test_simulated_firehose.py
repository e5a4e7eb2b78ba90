"""The firehose over the simulated world, and the same records, keys and CIDs on every wire as over REST."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Any

import libipld
import pytest
from bluesky_streams import (
    FIREHOSE,
    NOW,
    V1,
    V2,
    commits,
    connect,
    events,
    hear,
    messages,
    opened,
    replayed,
    rest,
    service,
    world,
)

from bowerbird.model import Opening, Service
from bowerbird.providers import Bluesky
from bowerbird.simulated.bluesky.ids import tid
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.service import Setup, simulate
from bowerbird.simulated.streaming.live import Live
from bowerbird.simulated.world import Kind, WorldSettings
from bowerbird.simulated.world.settings import to_ms


def test_a_frame_is_a_header_and_a_body_and_numbers_rise_with_gaps() -> None:
    heard = messages(replayed(FIREHOSE))
    numbers = [body["seq"] for _, body in heard]
    assert all(one < other for one, other in pairwise(numbers))
    assert numbers[-1] - numbers[0] > len(numbers)
    assert all(header["op"] == 1 for header, _ in heard)
    assert {header["t"] for header, _ in heard} >= {"#commit", "#identity"}


def test_a_commit_leads_from_its_root_to_its_record() -> None:
    for header, body in messages(replayed(FIREHOSE))[:300]:
        if header["t"] != "#commit":
            continue
        head, blocks = libipld.decode_car(body["blocks"])
        assert head["roots"] == [body["commit"]]
        commit = blocks[body["commit"]]
        assert (commit["did"], commit["rev"]) == (body["repo"], body["rev"])
        entries = blocks[commit["data"]]["e"]
        assert [each["v"] for each in entries] == [op["cid"] for op in body["ops"] if op["cid"] is not None]
        assert all(each["v"] in blocks for each in entries)


def test_a_cursor_goes_on_after_it() -> None:
    heard = messages(replayed(FIREHOSE))
    assert hear(opened(FIREHOSE, cursor=heard[500][1]["seq"])) == replayed(FIREHOSE)[501:]


def test_an_outdated_cursor_is_told_before_the_whole_window() -> None:
    first, *others = hear(opened(FIREHOSE, cursor=9))
    header, body = messages([first])[0]
    assert (header["t"], body["name"]) == ("#info", "OutdatedCursor")
    assert others == replayed(FIREHOSE)


def test_a_cursor_in_the_future_is_an_error_and_the_end() -> None:
    sent = opened(FIREHOSE, cursor=2**52).due(NOW)
    header, body = messages(sent.frames)[0]
    assert header == {"op": -1}
    assert body == {"error": "FutureCursor", "message": "Cursor in the future."}
    assert sent.close is not None


def test_a_slow_reader_of_the_firehose_is_dropped_but_not_one_who_catches_up() -> None:
    live = opened(FIREHOSE, cursor=0)
    assert len(hear(live)) > 1_000
    sent = live.due(NOW + timedelta(hours=20))
    assert messages(sent.frames)[0][1]["error"] == "ConsumerTooSlow"
    assert sent.close is not None


def test_accounts_come_and_go_with_their_status() -> None:
    quiet = simulate(Setup(dialect="bluesky", world=WorldSettings(accounts=900, seed=6, posts_per_day=0.01)))
    statuses = {
        Kind.LEFT: ("deleted",),
        Kind.SUSPENDED: ("takendown", "deactivated"),
        Kind.JOINED: (None,),
        Kind.RETURNED: (None,),
    }
    truth = {each.kind: each for each in quiet.happenings(NOW, NOW + timedelta(days=20))}
    for each in (truth[kind_wanted] for kind_wanted in statuses):
        live = connect(FIREHOSE, each.at - timedelta(seconds=1), on=quiet)
        assert isinstance(live, Live)
        heard = messages(hear(live, each.at, each.at + timedelta(milliseconds=100)))
        mine = {header["t"]: body for header, body in heard if body.get("did") == each.account}
        assert mine["#account"]["active"] is (each.kind in (Kind.JOINED, Kind.RETURNED))
        assert mine["#account"].get("status") in statuses[each.kind]
        assert ("#sync" in mine) is (each.kind is Kind.RETURNED)
        assert ("#identity" in mine) is mine["#account"]["active"]


def test_commits_can_be_too_big_to_carry() -> None:
    big = simulate(Setup(dialect="bluesky", faults=Faults(messages={"stream_oversized": 0.1})), world())
    live = connect(FIREHOSE, on=big, cursor=0)
    assert isinstance(live, Live)
    bodies = [body for header, body in messages(hear(live)) if header["t"] == "#commit"]
    announced = [body for body in bodies if body["tooBig"]]
    assert 0.05 < len(announced) / len(bodies) < 0.15
    assert all(body["ops"] == [] and len(libipld.decode_car(body["blocks"])[1]) == 1 for body in announced)


def test_at_a_pace_the_world_runs_ahead_of_the_clock() -> None:
    fast = simulate(Setup(dialect="bluesky", world=WorldSettings(accounts=900, seed=11, pace=600, since=NOW)))
    live = connect(V1, on=fast)
    assert isinstance(live, Live)
    heard = events(hear(live, NOW, NOW + timedelta(seconds=12)))
    last = datetime.fromtimestamp(heard[-1]["time_us"] / 1e6, UTC)
    assert timedelta(hours=1, minutes=50) < last - NOW <= timedelta(hours=2, minutes=1)
    assert len(heard) > 50


@cache
def written() -> dict[str, Any]:
    """What the stream leaves standing of the last 36 hours, by at-uri."""
    found: dict[str, Any] = {}
    for event in events(replayed(V1)):
        if event["kind"] == "account" and not event["account"]["active"]:
            found = {uri: commit for uri, commit in found.items() if f"//{event['did']}/" not in uri}
        if event["kind"] == "commit":
            commit = event["commit"]
            uri = f"at://{event['did']}/{commit['collection']}/{commit['rkey']}"
            if commit["operation"] == "delete":
                assert "record" not in commit
                found.pop(uri, None)
            else:
                found[uri] = commit
    return found


def test_posts_of_the_stream_are_the_posts_that_rest_shows() -> None:
    posts = [uri for uri, commit in written().items() if commit["collection"] == "app.bsky.feed.post"]
    assert len(posts) > 1_000
    for start in range(0, len(posts), 25):
        views = rest("app.bsky.feed.getPosts", uris=posts[start : start + 25])["posts"]
        assert [view["uri"] for view in views] == posts[start : start + 25]
        for view in views:
            assert view["record"] == written()[view["uri"]]["record"]
            assert view["cid"] == written()[view["uri"]]["cid"]


@pytest.mark.parametrize(
    "collection", ["app.bsky.feed.repost", "app.bsky.feed.like", "app.bsky.graph.follow", "app.bsky.actor.profile"]
)
def test_records_of_the_stream_are_the_records_that_rest_lists(collection: str) -> None:
    chosen = {uri: commit for uri, commit in written().items() if commit["collection"] == collection}
    assert chosen
    for uri, commit in list(chosen.items())[:60]:
        listed = rest("com.atproto.repo.getRecord", repo=uri.split("/")[2], collection=collection, rkey=commit["rkey"])
        assert (listed["uri"], listed["cid"], listed["value"]) == (uri, commit["cid"], commit["record"])


def test_an_exported_repository_holds_the_same_blocks_as_the_firehose() -> None:
    kept: dict[str, dict[bytes, Any]] = {}
    for header, body in messages(replayed(FIREHOSE)):
        if header["t"] == "#commit" and body["ops"][0]["action"] == "create" and "feed.post" in body["ops"][0]["path"]:
            blocks = libipld.decode_car(body["blocks"])[1]
            kept.setdefault(body["repo"], {})[body["ops"][0]["cid"]] = blocks[body["ops"][0]["cid"]]
    did, records = max(kept.items(), key=lambda pair: len(pair[1]))
    exported = libipld.decode_car(rest("com.atproto.sync.getRepo", did=did))[1]
    there = {cid: block for cid, block in records.items() if cid in exported}
    assert len(there) >= len(records) * 0.8, "only the deleted ones may be missing"
    assert all(exported[cid] == block for cid, block in there.items())


def test_a_post_of_the_firehose_is_the_post_of_the_jetstream() -> None:
    by_seq = {each["cursor"]: each for each in commits(replayed(V1))}
    checked = 0
    for header, body in messages(replayed(FIREHOSE)):
        if header["t"] == "#commit" and body["ops"][0]["cid"] is not None:
            other = by_seq[body["seq"]]
            assert body["ops"][0]["path"] == f"{other['commit']['collection']}/{other['commit']['rkey']}"
            assert libipld.encode_cid(body["ops"][0]["cid"]) == other["commit"]["cid"]
            assert (body["repo"], body["rev"]) == (other["did"], other["commit"]["rev"])
            checked += 1
    assert checked > 1_000


def test_the_truth_is_what_the_stream_tells() -> None:
    frames = hear(opened(V1), NOW, NOW + timedelta(hours=3))
    told = {f"at://{each['did']}/{each['commit']['collection']}/{each['commit']['rkey']}"
            for each in commits(frames) if each["commit"]["operation"] == "create"
            and each["commit"]["collection"] in ("app.bsky.feed.post", "app.bsky.feed.repost")}  # fmt: skip
    last = datetime.fromtimestamp(events(frames)[-1]["time_us"] / 1e6, UTC)
    truth = [each for each in service().happenings(NOW, last) if each.kind is Kind.WRITTEN]
    assert told == {each.post for each in truth}
    assert len(told) > 50


@pytest.mark.parametrize(("channel", "path"), [("jetstream", V1), ("jetstream_v2", V2), ("firehose", FIREHOSE)])
def test_the_provider_understands_every_message(channel: str, path: str) -> None:
    provider = Bluesky()
    wanted = provider.subscription(channel, {})
    opening = provider.open(wanted, None, ())
    assert isinstance(opening, Opening)
    there = Service(name="sim", provider="bluesky", base="https://simulated.example")
    heard = provider.listener(wanted, opening, there, None).hear(replayed(path))
    assert [broken for page in heard.pages for broken in page.broken] == []
    created = {each.id for page in heard.pages for each in page.posts}
    lasting = {uri for uri, commit in written().items() if commit["collection"] in ("app.bsky.feed.post", "app.bsky.feed.repost")}
    window = timedelta(hours=24 if path == FIREHOSE else 36)
    since = tid(to_ms(NOW - window), 0)
    assert {uri for uri in lasting if uri.rpartition("/")[2] > since} <= created
    assert heard.newest_at is not None
    assert NOW - heard.newest_at < timedelta(minutes=10)
