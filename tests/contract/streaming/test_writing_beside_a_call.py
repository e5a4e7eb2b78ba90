"""A stream is retuned while it writes down a call that begins."""

from __future__ import annotations

import asyncio

from stream_scene import Scene

from bowerbird.clock import RealClock, to_micros
from bowerbird.model import Reason, Subscription
from bowerbird.ports import Database

_AT_ONCE = 3


async def test_retuning_while_a_call_begins_does_not_end_its_lease(database: Database) -> None:
    scene = Scene(RealClock(), database)
    streamer = await scene.streamer("ticks")
    listening = asyncio.create_task(streamer.run())
    retuning: list[asyncio.Task[bool]] = []
    # The call is written down before its request is sent.
    while not scene.transport.requests:
        if sum(not each.done() for each in retuning) < _AT_ONCE:
            wanted = Subscription(channel="ticks", options={"words": (str(len(retuning)),)})
            retuning.append(asyncio.create_task(streamer.retune(wanted, Reason("test", "another word"))))
        await asyncio.sleep(0)
    await asyncio.gather(*retuning)
    (call,) = await scene.rows("select state, expires_at > ? as is_leased from calls", to_micros(scene.clock.now()))
    assert (call["state"], bool(call["is_leased"])) == ("flying", True)
    streamer.end()
    await listening
