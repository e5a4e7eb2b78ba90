"""The streamer: what is heard is saved once, whatever breaks, and the service is never asked more than it allows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from stream_scene import CUT, MINUTE, SECOND, START, Scene, play, said, words

from bowerbird.clock import from_micros, to_micros
from bowerbird.crawl.life import registry
from bowerbird.crawl.streaming.buffer import MOST_BYTES, MOST_MESSAGES, SILENT
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.crawl.streaming.waits import STOPPED
from bowerbird.errors import DiskFull
from bowerbird.model import Facet, Page, Saved, Secret, Service
from bowerbird.ports import Transaction
from bowerbird.reports.status.streams import read_streams
from bowerbird.store import Store


@asynccontextmanager
async def listening(streamer: Streamer) -> AsyncIterator[asyncio.Task[None]]:
    """Runs a streamer beside the test and ends it in order."""
    task = asyncio.create_task(streamer.run())
    try:
        yield task
    finally:
        streamer.end()
        await task


async def killed(task: asyncio.Task[None]) -> None:
    """As good as `kill -9`: nothing of it runs any further."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def test_what_is_heard_is_saved_with_its_cursor_and_its_call(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([words(1, 2, 3), said("gone 2", "by 7 4")])
        async with listening(await scene.streamer()):
            await scene.wait(5 * SECOND)
            live = await scene.stream()
            assert (live["state"], live["cursor"], live["head"], live["events"]) == ("live", "4", "4", 5)
            assert from_micros(live["event_at"]) == START + 4 * SECOND
        assert await scene.posts() == [1, 3, 4]
        call = await scene.row("select * from calls")
        assert (call["state"], call["facet"], call["results"], call["new_items"]) == ("settled", "ticks", 5, 6)
        assert (call["outcome"], call["detail"], call["status"]) == ("ok", STOPPED.reason, 101)
        assert [row["found_by"] for row in await scene.rows("select distinct found_by from posts")] == [call["call"]]
        crawl = await scene.row("select * from crawls")
        assert (crawl["calls"], crawl["items"], crawl["posts"], crawl["users"]) == (1, 6, 4, 2)
        idle = await scene.stream()
        assert (idle["state"], idle["connections"]) == ("idle", 1)
        assert await scene.rows("select * from claims") == []

    play(work, database_url)


def test_what_is_new_is_counted_alike_by_the_call_the_crawl_and_the_process_reactions_too(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([said("by 7 4", "by 8 5"), said("likes 7 5", "likes 8 4", "likes 8 4", "by 8 5")])
        async with listening(await scene.streamer()):
            await scene.wait(5 * SECOND)
        stored = [(await scene.row(f"select count(*) as n from {table}"))["n"] for table in ("users", "posts", "reactions")]
        assert stored == [2, 2, 2]
        call, crawl = await scene.row("select * from calls"), await scene.row("select * from crawls")
        assert (call["new_items"], crawl["items"], scene.tally.items) == (6, 6, 6)

    play(work, database_url)


def test_what_the_flow_makes_of_it_is_added_to_the_frontier() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([said("by 7 4", "refetch 5")])
        async with listening(await scene.streamer()):
            await scene.wait(5 * SECOND)
        rows = await scene.rows("select facet, target, added_by from tasks join lanes on lanes.lane = tasks.lane order by facet")
        assert [(row["facet"], row["target"], row["added_by"]) for row in rows] == [("profile", "7", 1), ("repo", "5", 1)]

    play(work)


def test_what_is_only_announced_and_whoever_is_back_is_fetched_anew_from_the_first_item_on() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([said("refetch 5", "by 7 4"), said("left 7")])
        async with listening(await scene.streamer()):
            await scene.wait(5 * SECOND)
        async with scene.database.transaction() as tx:
            await tx.execute("update tasks set ready = 0, due = null, state = 'asleep', newest = 'known so far'")
        scene.transport.script.append([said("refetch 5", "by 7 9")])
        async with listening(await scene.streamer()):
            await scene.wait(5 * SECOND)
        rows = await scene.rows(
            "select target, newest, ready from tasks join lanes on lanes.lane = tasks.lane where facet = 'repo'"
        )
        assert sorted((row["target"], row["newest"], row["ready"]) for row in rows) == [("5", "", 1), ("7", "", 1)]

    play(work)


def test_what_is_announced_and_cannot_be_fetched_is_noted() -> None:
    async def work(scene: Scene) -> None:
        streamer = await scene.streamer()
        streamer._writer._lanes.pop("repo")
        scene.transport.script.append([said("refetch 5", "post 6")])
        async with listening(streamer):
            await scene.wait(5 * SECOND)
        errors = [row["message"] for row in await scene.rows("select message from errors")]
        assert [re.findall(r"\d+", each) for each in errors] == [["5"]]
        assert await scene.posts() == [6]

    play(work)


def test_a_cut_stream_goes_on_at_its_cursor_without_a_gap() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2), CUT], 0, [words(2, 3), CUT], [words(4)]])
        async with listening(await scene.streamer()):
            await scene.wait(20 * SECOND)
        assert await scene.posts() == [1, 2, 3, 4]
        assert (await scene.stream())["events"] == 4
        assert [request.query for request in scene.transport.requests] == [(), *[(("cursor", "2"),)] * 2, (("cursor", "3"),)]
        assert await scene.gaps() == []
        assert all(connection.is_closed for connection in scene.transport.connections)

    play(work)


class PowerCut(BaseException):
    """The process is gone; nothing in it runs any further."""


class CutStore(Store):
    """A store whose process dies while it saves the page with one post."""

    fatal = "x:5"

    async def hear(self, tx: Transaction, page: Page, **fields: Any) -> Saved:
        saved = await super().hear(tx, page, **fields)
        if any(post.id == self.fatal for post in page.posts):
            raise PowerCut
        return saved


def test_a_process_killed_amid_a_batch_loses_and_doubles_nothing(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2, 3), words(4, 5, 6)], [words(4, 5, 6, 7)]])
        doomed = await scene.streamer(store=CutStore(scene.database))
        with pytest.raises(PowerCut):
            await doomed.run()
        assert (await scene.stream())["cursor"] == "3"
        assert await scene.posts() == [1, 2, 3]
        async with listening(await scene.streamer()):
            await scene.wait(5 * SECOND)
        assert await scene.posts() == [1, 2, 3, 4, 5, 6, 7]
        assert (await scene.stream())["events"] == 7

    play(work, database_url)


def test_the_call_of_a_dead_worker_owes_the_limits_nothing() -> None:
    async def work(scene: Scene) -> None:
        task = asyncio.create_task((await scene.streamer("strict")).run())
        await scene.wait(5 * SECOND)
        await killed(task)
        async with scene.database.transaction() as tx:
            at = scene.clock.now() + timedelta(days=30)
            assert await scene.hearing.books.log.abandoned(tx, at) == []
            await registry.end_workers(tx, [scene.worker], at)
            assert await scene.hearing.books.log.abandoned(tx, at) == [(1, ())]
            assert await scene.hearing.books.log.lose(tx, 1, "lost", "its worker died", scene.clock.now())
        ledger = await scene.row("select * from ledgers")
        assert (ledger["in_flight"], ledger["spent"], ledger["remaining"]) == (0, 1, 4)

    play(work)


def test_every_message_takes_from_a_budget_of_results_and_the_stream_ends_when_it_is_used_up(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2), words(3, 4, 5, 6, after=MINUTE)], [words(9)]])
        async with listening(await scene.streamer("paid")):
            await scene.wait(5 * SECOND)
            ledger = await scene.row("select * from ledgers")
            assert (ledger["spent"], ledger["remaining"], ledger["in_flight"]) == (5, 3, 3), (
                "all that is left is reserved: more came at once"
            )
            await scene.wait(5 * MINUTE)
            assert len(scene.transport.connections) == 1
            assert scene.transport.connections[0].is_closed
            # What had been delivered is kept and booked, although it was one too many.
            assert await scene.posts() == [1, 2, 3, 4, 5, 6]
            ledger = await scene.row("select * from ledgers")
            assert (ledger["spent"], ledger["remaining"], ledger["in_flight"]) == (6, -1, 0)
            stream = await scene.stream()
            assert (stream["state"], bool(stream["reason"])) == ("waiting", True)
            await scene.wait(10 * MINUTE)
            assert await scene.posts() == [1, 2, 3, 4, 5, 6, 9]

    play(work, database_url)


def test_a_pause_ends_the_connection_in_order_and_leaves_a_gap_only_without_a_cursor() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2)], [words(3)]])
        streamer = await scene.streamer("live")
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            streamer.pause(True)
            await scene.wait(10 * MINUTE)
            assert (await scene.stream())["state"] == "paused"
            assert scene.transport.connections[0].is_closed
            assert len(scene.transport.connections) == 1
            streamer.pause(False)
            await scene.wait(5 * SECOND)
            assert (await scene.stream())["state"] == "live"
        assert await scene.posts() == [1, 2, 3]
        gap = await scene.row("select * from gaps")
        assert from_micros(gap["ended_at"]) - from_micros(gap["began_at"]) > 9 * MINUTE

    play(work)


# -- who holds the stream ---------------------------------------------------------------------------------------------


def test_a_second_worker_waits_for_the_first_to_let_go() -> None:
    async def work(scene: Scene) -> None:
        first = await scene.streamer()
        await scene.move_away()
        task = asyncio.create_task(first.run())
        await scene.wait(SECOND)
        async with listening(await scene.streamer()):
            await scene.wait(3 * MINUTE)
            assert len(scene.transport.connections) == 1
            first.end()
            await task
            await scene.wait(30 * SECOND)
            assert len(scene.transport.connections) == 2

    play(work)


def test_the_stream_of_a_worker_that_fell_silent_is_taken_over_when_its_hold_runs_out() -> None:
    async def work(scene: Scene) -> None:
        task = asyncio.create_task((await scene.streamer()).run())
        await scene.wait(SECOND)
        await killed(task)
        await scene.move_away()
        held_until = await scene.held_until()
        async with listening(await scene.streamer()):
            await scene.wait(held_until - scene.clock.now() - SECOND)
            assert len(scene.transport.connections) == 1
            await scene.wait(22 * SECOND)
            assert len(scene.transport.connections) == 2

    play(work)


def test_a_worker_whose_stream_was_taken_writes_nothing_more(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([words(1), words(2, after=10 * SECOND)])
        streamer = await scene.streamer()
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            async with scene.database.transaction() as tx:
                at = to_micros(START + timedelta(hours=1))
                other = await registry.enrol_worker(tx, "crawl", START)
                await tx.execute("update workers set host = 'elsewhere', seen_at = ? where worker = ?", at, other)
                await tx.execute("update claims set token = 1, worker = ?, until = ?", other, at)
            await scene.wait(MINUTE)
            assert await scene.posts() == [1]
            assert (await scene.stream())["cursor"] == "1"
            assert scene.tally.fenced == 1
            assert scene.transport.connections[0].is_closed
            assert len(scene.transport.connections) == 1
        call = await scene.row("select state, detail from calls")
        assert call["state"] == "lost"
        assert "stream 1" in call["detail"]

    play(work, database_url)


def test_a_worker_whose_call_was_declared_lost_writes_nothing_more_and_begins_again() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1), words(2, after=10 * SECOND)], [words(2)]])
        async with listening(await scene.streamer()):
            await scene.wait(5 * SECOND)
            async with scene.database.transaction() as tx:
                assert await scene.hearing.books.log.lose(tx, 1, "lost", "its worker seemed dead", scene.clock.now())
            await scene.wait(MINUTE)
        assert scene.tally.fenced == 1
        assert await scene.posts() == [1, 2]
        assert [row["state"] for row in await scene.rows("select state from calls order by call")] == ["lost", "settled"]

    play(work)


def test_the_hold_is_renewed_while_nothing_is_said_and_while_waiting() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[], 400])
        async with listening(await scene.streamer()) as task:
            for _ in range(10):
                await scene.wait(MINUTE)
                assert await scene.held_until() > scene.clock.now() + MINUTE
            assert not task.done()

    play(work)


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_silence_ends_a_connection_and_signs_of_life_do_not() -> None:
    async def work(scene: Scene) -> None:
        async with listening(await scene.streamer("live")):
            await scene.wait(10 * MINUTE)
            assert len(scene.transport.connections) == 1
        scene.transport.lives_on = False
        async with listening(await scene.streamer("live")):
            await scene.wait(MINUTE)
            assert len(scene.transport.connections) == 3
        assert SILENT.reason in (await scene.row("select detail from calls where call = 2"))["detail"]

    play(work)


def waits(scene: Scene) -> list[float]:
    """Seconds between the end of one try and the next, the way there left out."""
    at = scene.transport.connected_at
    return [round((after - before).total_seconds() - 0.05, 2) for before, after in pairwise(at)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ([0, 0, 0, 0], [0.25, 0.5, 0.75, 1.0]),
        ([503, 503, 503, 503], [5, 10, 20, 40]),
        ([{}, {}, {}], [60, 120, 240]),
        ([{"retry-after": "700"}, {}], [700, 120]),
        ([0, 503, 0], [0.25, 5, 0.5]),
        ([400, 400], [900, 900]),
    ],
)
def test_each_kind_of_failure_waits_by_the_networks_own_rule(script: list[Any], expected: list[float]) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend(script)
        async with listening(await scene.streamer()):
            await scene.wait(timedelta(hours=1))
        assert waits(scene) == expected

    play(work)


def test_a_first_event_ends_the_row_of_failures_and_a_parting_word_alone_does_not() -> None:
    async def work(scene: Scene) -> None:
        parting = [said("closing overloaded", after=timedelta(0))]
        scene.transport.script.extend([0, 0, [words(1, after=timedelta(0)), (timedelta(0), CUT[1])], 0, parting, parting])
        async with listening(await scene.streamer()):
            await scene.wait(20 * SECOND)
        assert waits(scene) == [0.25, 0.5, 0.25, 0.5, 0.75, 1.0]

    play(work)


def test_a_refusal_for_a_human_stands_in_the_stream_and_in_the_errors() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append(400)
        async with listening(await scene.streamer()):
            await scene.wait(MINUTE)
            row = await scene.stream()
            assert (row["state"], "HTTP 400" in row["reason"]) == ("refused", True)
            assert (await scene.row("select message from errors"))["message"] == "HTTP 400"
        assert (await scene.row("select outcome from calls"))["outcome"] == "bad_request"

    play(work)


def test_a_storm_of_reconnects_never_exceeds_the_limit_on_connections() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(n), CUT] for n in range(1, 100)])
        async with listening(await scene.streamer("strict")):
            await scene.wait(timedelta(hours=2))
        at = scene.transport.connected_at
        assert len(at) > 30
        for first, sixth in zip(at, at[5:], strict=False):
            assert sixth - first >= 15 * MINUTE

    play(work)


def test_a_restarted_worker_remembers_the_connections_it_made() -> None:
    async def work(scene: Scene) -> None:
        for _ in range(8):
            task = asyncio.create_task((await scene.streamer("strict")).run())
            await scene.wait(10 * SECOND)
            await killed(task)
        assert len(scene.transport.connected_at) == 5

    play(work)


def test_an_expired_session_is_opened_anew_and_a_bad_token_is_not_tried_for_long() -> None:
    async def work(scene: Scene) -> None:
        scene.vault.keep(Secret(name="mine", values={"token": "", "password": "p", "session": "old"}))
        scene.transport.script.extend([401, 401, [words(1)]])
        scene.transport.answers.extend([(400, b""), (200, b"new")])
        async with listening(await scene.streamer("ticks", "mine")):
            await scene.wait(10 * MINUTE)
            paths = [(request.path, request.headers["authorization"]) for request in scene.transport.requests]
            assert paths == [("/stream", "old"), ("/refresh", "old"), ("/login", "p"), ("/stream", "new")]
            assert (await scene.stream())["state"] == "refused"
            await scene.wait(10 * MINUTE)
        assert await scene.posts() == [1]

    play(work)


def test_a_refused_credential_is_left_for_the_next_that_may_open_the_stream() -> None:
    async def work(scene: Scene) -> None:
        for name in ("mine", "yours", "theirs"):
            scene.vault.keep(Secret(name=name, values={"token": name}))
        scene.transport.script.extend([401, 401, [words(1), CUT], 401])
        async with listening(await scene.streamer("ticks", "mine", "yours", "theirs")):
            await scene.wait(MINUTE)
            shown = [request.headers["authorization"] for request in scene.transport.requests]
            assert shown[:3] == ["mine", "yours", "theirs"], "at once, not after the long wait of a refused stream"
            await scene.wait(10 * MINUTE)
            assert (await scene.stream())["state"] == "refused", "when all were refused, a human must look"
            refused = {row["credential"] for row in await scene.rows("select credential from credentials")}
            assert refused == {"mine", "yours", "theirs"}, "and status says which"
        assert await scene.posts() == [1]

    play(work)


def test_a_credential_that_may_not_open_one_stream_is_left_for_the_next_and_not_called_refused() -> None:
    async def work(scene: Scene) -> None:
        for name in ("mine", "yours"):
            scene.vault.keep(Secret(name=name, values={"token": name}))
        scene.transport.script.extend([403, [words(1)]])
        async with listening(await scene.streamer("ticks", "mine", "yours")):
            await scene.wait(MINUTE)
        assert await scene.posts() == [1]
        assert await scene.rows("select credential from credentials") == []

    play(work)


def test_what_must_be_sent_first_is_sent_and_its_refusal_says_why() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.answers.extend([(200, b""), (422, b"")])
        scene.transport.script.append([words(1), CUT])
        async with listening(await scene.streamer("careful")):
            await scene.wait(MINUTE)
            assert [request.path for request in scene.transport.requests] == ["/rules", "/stream", "/rules"]
            assert "rule 1 is no rule" in (await scene.stream())["reason"]
        assert scene.transport.connections[0].heard == [b"hello"]

    play(work)


# -- a store that is slow or full -------------------------------------------------------------------------------------


class FullStore(Store):
    """A store on a disk that is full until a time; it notes how large the batches are."""

    until: datetime
    batches: list[int]

    async def hear(
        self, tx: Transaction, page: Page, *, service: Service, facet: Facet, call: int, now: datetime
    ) -> Saved:  # fmt: skip
        if now < self.until:
            raise DiskFull("no space left")
        self.batches.append(len(page.posts))
        return await super().hear(tx, page, service=service, facet=facet, call=call, now=now)


def full_store(scene: Scene, until: datetime) -> FullStore:
    store = FullStore(scene.database)
    store.until, store.batches = until, []
    return store


def test_a_full_disk_makes_the_service_wait_and_loses_nothing() -> None:
    async def work(scene: Scene) -> None:
        store = full_store(scene, START + 5 * MINUTE)
        said = MOST_MESSAGES + 10_000
        chunks = [words(*range(n, n + 2_500), after=timedelta(milliseconds=10)) for n in range(1, said, 2_500)]
        scene.transport.script.append(chunks)
        async with listening(await scene.streamer(store=store)):
            await scene.wait(4 * MINUTE)
            assert scene.transport.connections[0].received <= MOST_MESSAGES / 2_500 + 2
            assert await scene.posts() == []
            assert "no space left" in scene.tally.trouble
            await scene.wait(2 * MINUTE)
        assert await scene.posts() == list(range(1, said + 1))
        assert len(scene.transport.connections) == 1
        # A backlog is understood and saved in large pieces, but not in one go.
        assert 1_500 < max(store.batches) <= 2_500

    play(work)


class BreakingStore(FullStore):
    """A store whose disk is full for a moment, after so many pages."""

    pages_left: int

    async def hear(
        self, tx: Transaction, page: Page, *, service: Service, facet: Facet, call: int, now: datetime
    ) -> Saved:  # fmt: skip
        self.pages_left -= 1
        if self.pages_left == 0:
            raise DiskFull("no space left")
        return await super().hear(tx, page, service=service, facet=facet, call=call, now=now)


def test_a_batch_that_fails_in_its_middle_is_saved_from_its_beginning_and_counted_once() -> None:
    async def work(scene: Scene) -> None:
        store = BreakingStore(scene.database)
        store.until, store.batches, store.pages_left = START, [], 4
        scene.transport.script.append([words(*range(1, 10_001))])
        async with listening(await scene.streamer(store=store)):
            await scene.wait(2 * MINUTE)
        assert await scene.posts() == list(range(1, 10_001))
        # The first event alone, two pieces, and the next time all of them.
        assert store.batches[:3] == store.batches[3:6]
        assert sum(store.batches[3:]) == 10_000
        assert scene.tally.results == 10_000

    play(work)


def test_memory_is_bounded_in_bytes_too() -> None:
    async def work(scene: Scene) -> None:
        store = full_store(scene, START + 5 * MINUTE)
        large = [(timedelta(milliseconds=10), [b"post %d " % n + b" " * 1_000_000]) for n in range(1, 61)]
        scene.transport.script.append(large)
        async with listening(await scene.streamer(store=store)):
            await scene.wait(4 * MINUTE)
            assert scene.transport.connections[0].received < MOST_BYTES / 1_000_000 + 4
            await scene.wait(2 * MINUTE)
        assert await scene.posts() == list(range(1, 61))

    play(work)


def test_an_orderly_stop_saves_first_what_was_received() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([words(*range(1, 5_001)), words(*range(5_001, 6_001), after=timedelta(days=1))])
        streamer = await scene.streamer(store=full_store(scene, START + 20 * SECOND))
        async with listening(streamer):
            await scene.wait(10 * SECOND)
            assert await scene.posts() == []
        assert await scene.posts() == list(range(1, 5_001))
        assert (await scene.row("select state from calls"))["state"] == "settled"

    play(work)


def test_status_says_how_each_stream_stands() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([words(1, 2)])
        async with listening(await scene.streamer()):
            await scene.wait(MINUTE)
            async with scene.database.reading() as tx:
                (stream,) = await read_streams(tx)
        assert (stream.crawl, stream.service, stream.name, stream.state) == ("crawl", "bird", "ticks", "live")
        assert (stream.events, stream.connections, stream.gaps) == (2, 1, 0)
        assert stream.live_since == START + timedelta(milliseconds=50)
        assert stream.event_at == START + 2 * SECOND
        assert stream.heard_at is not None
        assert stream.lag == stream.heard_at - stream.event_at

    play(work)
