"""Gaps: measured where the network cannot give back what was missed, and filled over REST where it can."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import structs
from stream_scene import CUT, MINUTE, SECOND, SERVICE, START, Scene, play, said, words
from test_streamer import listening

from bowerbird.clock import from_micros, to_micros
from bowerbird.crawl.streaming.gaps import Cause, missed
from bowerbird.crawl.streaming.stream_rows import Position
from bowerbird.crawl.streaming.waits import RESET
from bowerbird.model import Claim, Ended
from bowerbird.reports.status.streams import GapReport, read_gaps, read_streams

CLAIM = Claim("stream 1", 1, 1, START)


def span(gap: GapReport) -> tuple[float, float]:
    """When we did not hear, in seconds since the start."""
    assert gap.ended_at is not None
    return round((gap.began_at - START).total_seconds(), 3), round((gap.ended_at - START).total_seconds(), 3)


async def gaps_of(scene: Scene) -> tuple[GapReport, ...]:
    async with scene.database.reading() as tx:
        return await read_gaps(tx)


async def visited(scene: Scene, at: datetime) -> None:
    """The fill task ends a whole listing, as the engine would write it."""
    async with scene.database.transaction() as tx:
        await tx.execute(
            "update tasks set ready = 0, token = null, cursor = null, state = 'asleep', visited_at = ?, newest = '99' "
            "where target = 'cats'",
            to_micros(at),
        )


def test_without_a_cursor_every_reconnect_is_a_gap_between_the_last_event_and_the_first(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2), CUT], [words(8, 9)]])
        async with listening(await scene.streamer("live")):
            await scene.wait(10 * SECOND)
        (gap,) = await gaps_of(scene)
        assert (gap.cause, gap.after_at, gap.before_at) == ("cut", START + 2 * SECOND, START + 8 * SECOND)
        assert await scene.gaps() == [("cut", "2", "8")]
        # Heard after a second, cut after another, away for the shortest wait and the way to the service.
        assert span(gap) == (1.05, 2.35)

    play(work, database_url)


def test_the_very_first_start_is_no_gap_and_the_second_is() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([words(1)])
        async with listening(await scene.streamer("live")):
            await scene.wait(10 * SECOND)
        assert await scene.gaps() == []
        async with listening(await scene.streamer("live")):
            await scene.wait(10 * SECOND)
        assert await scene.gaps() == [("start", "1", None)]

    play(work)


def test_a_connection_that_lived_without_a_word_narrows_the_gap() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([words(1)])
        async with listening(await scene.streamer("live")):
            await scene.wait(timedelta(hours=1))
        async with listening(await scene.streamer("live")):
            await scene.wait(SECOND)
        (gap,) = await gaps_of(scene)
        assert gap.began_at > START + timedelta(minutes=59)

    play(work)


def test_silence_and_outage_are_told_apart() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.lives_on = False
        scene.transport.script.extend([[words(1)], [words(2), CUT], 503, [words(3), CUT], [words(4)]])
        async with listening(await scene.streamer("live")):
            await scene.wait(MINUTE + 8 * SECOND)
        assert [cause for cause, *_ in await scene.gaps()] == ["silence", "outage", "cut"]

    play(work)


def test_a_gap_wakes_the_task_that_fills_it_from_the_last_key_heard(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2), CUT], [words(8)]])
        async with listening(await scene.streamer("live")):
            await scene.wait(10 * SECOND)
            task = await scene.row("select * from tasks where target = 'cats'")
            assert (task["ready"], task["newest"], task["cursor"], task["added_by"]) == (1, "2", None, 2)
            (gap,) = await gaps_of(scene)
            assert (gap.asked_at is not None, gap.is_filled) == (True, False)
            await visited(scene, scene.clock.now())
            (gap,) = await gaps_of(scene)
            assert gap.is_filled
            async with scene.database.reading() as tx:
                (stream,) = await read_streams(tx)
            assert (stream.gaps, stream.open_gaps) == (1, 0)

    play(work, database_url)


def test_a_listing_under_way_is_waited_for_because_it_may_have_begun_too_early(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1), CUT], [words(5), CUT], [words(9)]])
        async with listening(await scene.streamer("live")):
            await scene.wait(timedelta(milliseconds=3_000))
            assert (await scene.row("select newest from tasks where target = 'cats'"))["newest"] == "1"
            async with scene.database.transaction() as tx:
                await tx.execute("update tasks set cursor = 'page 2' where target = 'cats'")
            await scene.wait(10 * SECOND)
            assert [gap.asked_at is not None for gap in await gaps_of(scene)] == [False, True]
            await visited(scene, scene.clock.now())
            assert [gap.is_filled for gap in await gaps_of(scene)] == [False, True]
            await scene.wait(30 * SECOND)
            task = await scene.row("select * from tasks where target = 'cats'")
            assert (task["ready"], task["newest"]) == (1, "5")
            assert [gap.is_filled for gap in await gaps_of(scene)] == [False, True]
            await visited(scene, scene.clock.now())
            assert [gap.is_filled for gap in await gaps_of(scene)] == [True, True]

    play(work, database_url)


def test_a_busy_stream_too_looks_after_its_gaps() -> None:
    async def work(scene: Scene) -> None:
        busy = [words(n) for n in range(5, 100)]
        scene.transport.script.extend([[words(1), CUT], busy])
        async with listening(await scene.streamer("live")):
            await scene.wait(timedelta(milliseconds=1_500))
            async with scene.database.transaction() as tx:
                lane = (await tx.fetch("select lane from lanes where facet = 'hashtag'"))[0]["lane"]
                columns = "lane, target, ready, priority, state, cursor, added_at"
                await tx.execute(f"insert into tasks ({columns}) values (?, 'cats', 0, 0, 'asleep', 'page 2', 0)", lane)
            await scene.wait(10 * SECOND)
            assert (await gaps_of(scene))[0].asked_at is None
            await visited(scene, START)
            await scene.wait(30 * SECOND)
            assert (await gaps_of(scene))[0].asked_at is not None

    play(work)


def test_a_gap_before_anything_was_heard_has_nothing_to_be_filled_from() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([CUT])
        async with listening(await scene.streamer("live")):
            await scene.wait(10 * SECOND)
        assert await scene.gaps() == [("cut", None, None)]
        assert await scene.rows("select * from tasks") == []

    play(work)


def test_where_keys_tell_time_a_gap_before_the_first_post_is_filled_from_when_it_was_last_listened(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([])
        async with listening(await scene.streamer("timed")):
            await scene.wait(10 * MINUTE)
        await scene.wait(timedelta(hours=5))
        async with listening(await scene.streamer("timed")):
            await scene.wait(10 * SECOND)
        ((cause, after_key, _),) = await scene.gaps()
        assert cause == "start"
        # Ten seconds of disorder and a minute for the clocks before the last sign of life, which comes every 10 seconds.
        assert timedelta(0) <= START + 10 * MINUTE - 70 * SECOND - told(after_key) <= 10 * SECOND
        task = await scene.row("select ready, newest from tasks where target = 'cats'")
        assert (task["ready"], task["newest"]) == (1, after_key)
        await visited(scene, scene.clock.now())
        assert [gap.is_filled for gap in await gaps_of(scene)] == [True]

    def told(key: str) -> datetime:
        return START - timedelta(hours=1) + timedelta(milliseconds=int(key) >> 4)

    play(work, database_url)


def test_a_channel_that_nothing_can_fill_only_records_its_gaps() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1), CUT], [words(5)]])
        async with listening(await scene.streamer("strict")):
            await scene.wait(10 * SECOND)
        (gap,) = await gaps_of(scene)
        assert (gap.cause, gap.asked_at, gap.is_filled) == ("cut", None, False)

    play(work)


def test_a_connection_that_said_nothing_leaves_its_gap_to_be_ended_by_the_next() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1), CUT], [CUT], [CUT], [said("gone 1"), words(8), words(9)]])
        async with listening(await scene.streamer("live")):
            await scene.wait(20 * SECOND)
        assert await scene.gaps() == [("cut", "1", "8")] * 3

    play(work)


# -- with a cursor ----------------------------------------------------------------------------------------------------


def test_a_cursor_that_is_too_old_is_a_gap_even_though_the_stream_goes_on(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2), CUT], [said("outdated", "post 8", "post 9")]])
        async with listening(await scene.streamer()):
            await scene.wait(10 * SECOND)
        (gap,) = await gaps_of(scene)
        assert (gap.cause, gap.detail) == ("outdated", "in its own words")
        assert (gap.after_at, gap.before_at) == (START + 2 * SECOND, START + 8 * SECOND)
        assert span(gap) == (1.05, 2.35)
        assert await scene.posts() == [1, 2, 8, 9]

    play(work, database_url)


def test_being_away_for_longer_than_can_be_replayed_is_a_gap_though_the_service_says_nothing() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2)], [words(8, 9)]])
        async with listening(await scene.streamer()):
            await scene.wait(10 * SECOND)
        await scene.wait(timedelta(hours=2))
        async with listening(await scene.streamer()):
            await scene.wait(10 * SECOND)
        (gap,) = await gaps_of(scene)
        assert (gap.cause, gap.before_at) == ("outdated", START + 8 * SECOND)
        assert gap.ended_at is not None
        assert gap.ended_at - gap.began_at > timedelta(hours=1)

    play(work)


def test_a_replay_that_was_stopped_half_way_is_judged_by_its_cursor_and_not_by_when_it_was_heard() -> None:
    hour = timedelta(hours=1)
    now = START + 10 * hour
    replaying = Position(
        stream=1, claim=CLAIM, cursor="5", heard_at=now - hour / 2, connected_at=now - hour * 3 / 4, event_at=now - hour * 3 / 2
    )
    channel = Scene.channels()["ticks"]
    gap = missed(replaying, channel, Cause.CUT, now)
    assert gap is not None
    assert (gap.cause, gap.after_at) == (Cause.OUTDATED, now - hour * 3 / 2)
    # It had come to its own time, and then nothing happened.
    caught_up = structs.replace(replaying, event_at=now - hour * 2, connected_at=now - hour * 3)
    assert missed(caught_up, channel, Cause.CUT, now) is None
    # What lies further back than the last connection could replay was a gap already when that was opened.
    quiet = structs.replace(replaying, event_at=now - hour * 9, connected_at=now - timedelta(seconds=1))
    late = missed(quiet, channel, Cause.CUT, now)
    assert late is not None
    assert missed(structs.replace(quiet, connected_at=now), channel, Cause.CUT, now) is None


def test_a_cursor_is_not_taken_to_another_host(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2), CUT], [words(3)]])
        async with listening(await scene.streamer("bound")):
            await scene.wait(10 * SECOND)
        assert (await scene.stream())["cursor"] == "3 https://bird.example"
        other = structs.replace(SERVICE, base="https://other.example")
        scene.transport.script.extend([[words(1), CUT], [words(2)]])
        async with listening(await scene.streamer("bound", host=other)):
            await scene.wait(10 * SECOND)
        queries = [request.query for request in scene.transport.requests]
        assert queries == [(), (("cursor", "2"),), (), (("cursor", "1"),)]
        (gap,) = await gaps_of(scene)
        assert (gap.cause, gap.is_filled) == ("start", False)
        assert gap.detail is not None
        assert "https://bird.example" in gap.detail
        assert gap.detail in [row["message"] for row in await scene.rows("select message from errors")]
        assert (await scene.stream())["cursor"] == "2 https://other.example"

    play(work, database_url)


def test_a_message_too_large_to_be_taken_is_not_asked_for_for_ever() -> None:
    async def work(scene: Scene) -> None:
        overlong = (SECOND, Ended("WebSocketError: Message size 9000000 exceeds limit", 1009))
        scene.transport.script.extend([[words(1), overlong], [words(2), overlong], [overlong], [words(4)]])
        async with listening(await scene.streamer()):
            await scene.wait(5 * MINUTE)
            # As long as something comes before it, the connection only broke.
            assert len(scene.transport.connections) == 3
            row = await scene.stream()
            assert (row["state"], row["cursor"]) == ("refused", "2")
            assert row["reason"]
            assert "9000000" not in row["reason"], "not what the connection said: that comes again and again"
            await scene.wait(15 * MINUTE)
        assert await scene.posts() == [1, 2, 4]

    play(work)


def test_a_connection_cut_before_its_first_cursor_leaves_a_gap() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[CUT], [words(8)]])
        async with listening(await scene.streamer()):
            await scene.wait(10 * SECOND)
        assert await scene.gaps() == [("cut", None, "8")]

    play(work)


def test_a_cursor_ahead_of_the_service_is_kept_for_a_human_to_decide() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2), CUT], [said("future")]])
        async with listening(await scene.streamer()):
            await scene.wait(10 * MINUTE)
            row = await scene.stream()
            assert (row["state"], row["cursor"]) == ("refused", "2")
            assert row["reason"] == RESET
        errors = [row["message"] for row in await scene.rows("select message from errors")]
        assert any("in its own words" in message for message in errors)
        assert len(scene.transport.connections) == 2

    play(work)


# -- what the service says it held back -------------------------------------------------------------------------------


def test_each_connection_has_one_row_with_the_largest_number_held_back(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        first = [words(1), said("undelivered 3"), said("undelivered 12"), said("undelivered 7"), CUT]
        scene.transport.script.extend([first, [said("undelivered 2")]])
        async with listening(await scene.streamer()):
            await scene.wait(30 * SECOND)
        rows = await scene.rows("select * from gaps order by gap")
        assert [(row["cause"], row["missing"], row["call"]) for row in rows] == [("undelivered", 12, 1), ("undelivered", 2, 2)]
        assert from_micros(rows[0]["began_at"]) == START + timedelta(milliseconds=50)
        assert rows[0]["ended_at"] > rows[0]["began_at"]

    play(work, database_url)


def test_a_parting_word_is_the_reason_and_decides_the_wait() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1), said("closing rate_limited"), (SECOND, Ended("closed", 1008))], [words(2)]])
        async with listening(await scene.streamer()):
            await scene.wait(30 * SECOND)
            assert len(scene.transport.connections) == 1
            assert (await scene.row("select outcome from calls"))["outcome"] == "rate_limited"
            await scene.wait(MINUTE)
        assert await scene.posts() == [1, 2]

    play(work)


def test_what_makes_a_gap() -> None:
    channels = Scene.channels()
    now = START + timedelta(minutes=10)
    heard = Position(stream=1, claim=CLAIM, cursor="5", head="5", heard_at=START)
    assert missed(Position(stream=1, claim=CLAIM), channels["live"], Cause.START, now) is None
    assert missed(heard, channels["ticks"], Cause.CUT, now) is None
    gap = missed(heard, channels["live"], Cause.SILENCE, now)
    assert gap is not None
    assert (gap.cause, gap.began_at, gap.ended_at, gap.after_key) == (Cause.SILENCE, START, now, "5")
    late = missed(heard, channels["ticks"], Cause.CUT, START + timedelta(hours=2))
    assert late is not None
    assert late.cause is Cause.OUTDATED
