"""A change of what a stream hears: written down by any worker, made by the one that has the stream, kept through restarts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from stream_scene import MINUTE, SECOND, Scene, play, words
from test_streamer import killed, listening

from bowerbird.clock import from_micros
from bowerbird.crawl.streaming.streamer import OVERLAP, Streamer
from bowerbird.crawl.streaming.waits import RETUNED, STOPPED
from bowerbird.errors import UserError
from bowerbird.model import Ended, Reason, Subscription
from failures import raises_code

WHY = Reason("adaptation", "rises with the event")


async def retune(streamer: Streamer, *wanted: str) -> bool:
    return await streamer.retune(Subscription(channel=streamer.wanted.channel, options={"words": wanted}), WHY)


async def changes(scene: Scene) -> list[tuple[Any, ...]]:
    rows = await scene.rows("select kind, who, before, after, effective_at, manner from changes order by change")
    return [
        (row["kind"], row["who"], row["before"], row["after"], row["effective_at"] is not None, row["manner"]) for row in rows
    ]


def asked_for(scene: Scene) -> list[list[str]]:
    """The words of each connection that was opened."""
    opened = [request for request in scene.transport.requests if request.path == "/stream"]
    return [[value for name, value in request.query if name == "words"] for request in opened]


def test_with_a_cursor_another_connection_goes_on_where_the_last_one_ended(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1, 2)], [words(2, 3)]])
        streamer = await scene.streamer(words=("a",))
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            assert await retune(streamer, "a", "b")
            await scene.wait(5 * SECOND)
            assert streamer.wanted.options == {"words": ("a", "b")}
        assert asked_for(scene) == [["a"], ["a", "b"]]
        assert scene.transport.requests[-1].query[0] == ("cursor", "2")
        assert await scene.posts() == [1, 2, 3]
        assert await scene.gaps() == []
        before, after = '{"words":["a"]}', '{"words":["a","b"]}'
        assert await changes(scene) == [("retuned", "adaptation", before, after, True, "another connection")]

    play(work, database_url)


def test_without_a_cursor_both_connections_are_heard_for_a_moment(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        both = 2 * OVERLAP
        scene.transport.script.extend(
            [[words(1), words(2, after=7 * SECOND), words(9, after=both)], [words(2), words(3, after=both)]]
        )
        streamer = await scene.streamer("live", words=("a",))
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            await retune(streamer, "b")
            await scene.wait(2 * SECOND)
            assert [each.is_closed for each in scene.transport.connections] == [False, False]
            await scene.wait(both + 5 * SECOND)
            assert [each.is_closed for each in scene.transport.connections] == [True, False]
        assert asked_for(scene) == [["a"], ["b"]]
        assert await scene.posts() == [1, 2, 3]
        assert await scene.gaps() == []
        calls = await scene.rows("select state, detail from calls order by call")
        assert [(row["state"], row["detail"]) for row in calls] == [
            ("settled", RETUNED.reason),
            ("settled", STOPPED.reason),
        ]
        assert (await scene.stream())["connections"] == 2
        assert scene.tally.trouble == ""

    play(work, database_url)


def test_where_the_service_ends_the_old_connection_at_once_there_is_a_gap() -> None:
    async def work(scene: Scene) -> None:
        kicked = (6 * SECOND, Ended("replaced"))
        scene.transport.script.extend([[words(1), kicked], [words(5, after=4 * SECOND)]])
        streamer = await scene.streamer("live")
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            await retune(streamer, "b")
            await scene.wait(MINUTE)
        assert await scene.gaps() == [("retune", "1", "5")]
        gap = await scene.row("select began_at, ended_at from gaps")
        assert gap["began_at"] <= gap["ended_at"]
        assert len(scene.transport.connections) == 2

    play(work)


def test_the_rules_of_an_open_connection_are_changed_beside_it_as_a_call_of_its_own(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        streamer = await scene.streamer("careful", words=("a",))
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            await retune(streamer, "b")
            await scene.wait(5 * SECOND)
            assert scene.transport.connections[0].heard == [b"hello", b"other words"]
        assert asked_for(scene) == [["a"]]
        assert [row["state"] for row in await scene.rows("select state from calls order by call")] == ["settled", "settled"]
        assert (await scene.row("select spent from ledgers where bucket = 'bird:change'"))["spent"] == 1
        assert [each[-1] for each in await changes(scene)] == ["the same connection"]

    play(work, database_url)


def test_a_change_waits_for_the_limit_on_changes() -> None:
    async def work(scene: Scene) -> None:
        streamer = await scene.streamer("careful", words=("a",))
        async with listening(streamer):
            for each in ("b", "c", "d"):
                await scene.wait(5 * SECOND)
                await retune(streamer, each)
            await scene.wait(MINUTE)
            assert streamer.wanted.options == {"words": ("c",)}
            await scene.wait(15 * MINUTE)
            assert streamer.wanted.options == {"words": ("d",)}

    play(work)


@pytest.mark.parametrize("channel", ["careful", "live"])
def test_what_the_service_refuses_is_not_changed_and_the_stream_goes_on(channel: str, database_url: str) -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.append([words(1), words(2, after=30 * SECOND)])
        streamer = await scene.streamer(channel, words=("a",))
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            if channel == "live":
                scene.transport.script.append(400)
            else:
                scene.transport.answers.append((400, b""))
            await retune(streamer, "b")
            await scene.wait(2 * MINUTE)
            assert streamer.wanted.options == {"words": ("a",)}
        assert await scene.posts() == [1, 2]
        assert len(scene.transport.connections) == 1
        old, new = '{"words":["a"]}', '{"words":["b"]}'
        assert await changes(scene) == [
            ("retuned", "adaptation", old, new, False, "refused"),
            ("kept", "bird", new, old, False, None),
        ]
        assert (await scene.stream())["tuned"] is None

    play(work, database_url)


@pytest.mark.parametrize("channel", ["careful", "live"])
def test_what_the_service_cannot_do_just_now_is_tried_again(channel: str) -> None:
    async def work(scene: Scene) -> None:
        streamer = await scene.streamer(channel, words=("a",))
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            if channel == "live":
                scene.transport.script.append(503)
            else:
                scene.transport.answers.append((503, b""))
            await retune(streamer, "b")
            await scene.wait(2 * MINUTE)
            assert streamer.wanted.options == {"words": ("b",)}
        assert [each[4] for each in await changes(scene)] == [True]

    play(work)


def test_another_worker_may_ask_for_it_and_whoever_has_the_stream_makes_it(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        async with listening(await scene.streamer("live", words=("a",))):
            await scene.wait(5 * SECOND)
            await scene.move_away()
            assert await retune(await scene.streamer("live", words=("a",)), "b")
            await scene.wait(MINUTE)
        assert asked_for(scene) == [["a"], ["b"]]

    play(work, database_url)


def test_a_change_survives_a_kill_and_a_change_of_the_file_takes_its_place(database_url: str) -> None:
    async def work(scene: Scene) -> None:
        streamer = await scene.streamer(words=("a",))
        task = asyncio.create_task(streamer.run())
        await scene.wait(5 * SECOND)
        await retune(streamer, "b")
        # Before it is made.
        await killed(task)
        for written, heard in ((("a",), ["b"]), (("a", "c"), ["a", "c"])):
            async with listening(await scene.streamer(words=written)):
                await scene.wait(5 * SECOND)
            assert asked_for(scene)[-1] == heard

    play(work, database_url)


def test_a_change_that_is_asked_for_while_nobody_listens_holds_for_the_next_connection() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([400])
        streamer = await scene.streamer(words=("a",))
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            await retune(streamer, "b")
            await scene.wait(20 * MINUTE)
        assert asked_for(scene) == [["a"], ["b"]]
        row = await scene.row("select effective_at from changes")
        assert from_micros(row["effective_at"]) <= scene.clock.now()

    play(work)


def test_two_changes_in_a_row_are_made_one_after_the_other() -> None:
    async def work(scene: Scene) -> None:
        streamer = await scene.streamer("live", words=("a",))
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            await retune(streamer, "b")
            await scene.wait(SECOND)
            await retune(streamer, "c")
            await scene.wait(MINUTE)
        assert asked_for(scene) == [["a"], ["b"], ["c"]]
        assert [each.is_closed for each in scene.transport.connections] == [True] * 3
        assert {row["state"] for row in await scene.rows("select state from calls")} == {"settled"}

    play(work)


def test_a_stop_amid_a_change_ends_both_connections_and_both_calls() -> None:
    async def work(scene: Scene) -> None:
        scene.transport.script.extend([[words(1)], [words(2)]])
        streamer = await scene.streamer("live", words=("a",))
        async with listening(streamer):
            await scene.wait(5 * SECOND)
            await retune(streamer, "b")
            await scene.wait(2 * SECOND)
        assert await scene.posts() == [1, 2]
        assert [each.is_closed for each in scene.transport.connections] == [True] * 2
        assert {row["state"] for row in await scene.rows("select state from calls")} == {"settled"}
        assert await scene.rows("select * from claims") == []

    play(work)


def test_what_is_heard_already_is_no_change_and_another_channel_is_refused() -> None:
    async def work(scene: Scene) -> None:
        streamer = await scene.streamer(words=("a",))
        assert not await retune(streamer, "a")
        with raises_code(UserError, "unsupported") as caught:
            await streamer.retune(Subscription(channel="live"), WHY)
        assert all(channel in caught.value.problem for channel in ("ticks", "live"))
        assert await changes(scene) == []

    play(work)
