"""Can a hostile server wedge, crash or rob a crawl? Every kind of attack on every kind of answer, then a healthy restart.

Each scene is a real crawl with the real engine and a real database. A service attacks it: in the answers to one facet, in the
messages of one stream, or in the bytes on a real socket. Then the same service is honest again and the same crawl is started
anew: it must come to its end and hold what a crawl of an honest service holds, unless it has written down what it lacks.
Scenes run in processes of their own, with a bound on memory; the highest that any of them took is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import asyncpg
from msgspec import Struct

from bowerbird.clock import RealClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.evaluate.crash.scene import Scene as World
from bowerbird.evaluate.hostile.children import play_all
from bowerbird.evaluate.hostile.scenes import WORLDS, Scene, chosen
from bowerbird.evaluate.hostile.serving import play_wire
from bowerbird.evaluate.hostile.stage import Verdict, healthy, play_answers
from bowerbird.evaluate.hostile.stored import Holdings
from bowerbird.evaluate.hostile.streams.listening import play_stream, undisturbed
from bowerbird.evaluate.hostile.streams.sockets import play_socket
from bowerbird.evaluate.postgres import start_postgres
from bowerbird.simulated.world import World as Population

__all__ = ["WORLDS", "Wish", "chosen", "evaluate_hostile"]

_COUNTS = ("wedged", "crashed", "leaked", "over_limit", "lost")
MOST_MB = 400


class Wish(Struct, frozen=True, kw_only=True):
    """Which scenes, and how many at a time."""

    only: str = ""
    network: str = ""
    is_short: bool = False
    jobs: int = 2
    say: Callable[[str], None] = print


def evaluate_hostile(wish: Wish) -> dict[str, Any]:
    """Plays the scenes; the figures."""
    scenes = chosen(wish.only, wish.network, wish.is_short)
    if not scenes:
        raise UserError(
            f"no scene is called {wish.only!r} on {wish.network or 'any network'}",
            "leave --only or --network out",
            code="unknown_name",
        )
    began = RealClock()
    start = began.now()
    with start_postgres() if any(each.is_on_postgres for each in scenes) else nullcontext("") as server:
        theatre = _Theatre(scenes, server)
        played = list(_told(play_all(scenes, theatre.play, wish.jobs), len(scenes), wish.say))
    seconds = round((began.now() - start).total_seconds(), 1)
    return _figures([verdict for _, verdict in played], played) | {"seconds": seconds}


def _told(played: Any, count: int, say: Callable[[str], None]) -> Any:
    for number, (scene, verdict) in enumerate(played, 1):
        if not verdict.is_clean or verdict.peak_mb > MOST_MB:
            say(f"{scene.name}: {'; '.join(verdict.words) or 'not clean'} ({verdict.peak_mb:.0f} MB)")
        if number % 50 == 0:
            say(f"{number} of {count} scenes")
        yield scene, verdict


def _figures(verdicts: Sequence[Verdict], played: Sequence[tuple[Scene, Verdict]]) -> dict[str, Any]:
    sums = {name: sum(getattr(each, name) for each in verdicts) for name in (*_COUNTS, "accounted")}
    peak = max(each.peak_mb for each in verdicts)
    stages = {stage: sum(scene.stage == stage for scene, _ in played) for stage in ("answers", "wire", "stream", "socket")}
    bad = [scene.name for scene, verdict in played if not verdict.is_clean]
    idle = [scene.name for scene, verdict in played if verdict.is_idle]
    return {
        "scenes": len(verdicts) - len(idle),
        "idle": idle,
        **sums,
        "peak_mb": peak,
        "stages": stages,
        "failed": bad,
        "is_clean": not bad and peak <= MOST_MB,
    }


class _Theatre:
    """What all scenes share: the worlds, and what an honest service would have given. Made before anything is forked."""

    def __init__(self, scenes: Sequence[Scene], server: str) -> None:
        self._server = server
        networks = sorted({each.network for each in scenes if each.stage in ("answers", "wire")})
        channels = sorted({each.part for each in scenes if each.stage == "stream"})
        self._heard: dict[str, frozenset[str]] = {
            name: run_virtual(lambda clock, name=name: undisturbed(name, clock)) for name in channels
        }
        self._populations = {name: Population(WORLDS[name].setup().world) for name in networks}
        worlds = {each.world for each in scenes if each.stage in ("answers", "wire")}
        self._expected: dict[World, Holdings] = {
            world: run_virtual(
                lambda clock, world=world: healthy(world, self._populations[world.dialect], clock), start=_now(world.dialect)
            )
            for world in worlds
        }

    def play(self, scene: Scene, folder: Path) -> Verdict:
        store = asyncio.run(_fresh(self._server, scene)) if scene.is_on_postgres else str(folder / "hostile.db")
        if scene.stage == "stream":
            heard: Verdict = run_virtual(lambda clock: play_stream(scene, self._heard[scene.part], store, folder, clock))
            return heard
        if scene.stage == "socket":
            return asyncio.run(play_socket(scene, store, folder))
        world, population = scene.world, self._populations[scene.network]
        expected = self._expected[world]
        if scene.stage == "wire":
            return asyncio.run(play_wire(scene, world, population, expected, store, folder))
        read: Verdict = run_virtual(
            lambda clock: play_answers(scene, world, population, expected, store, folder, clock), start=_now(scene.network)
        )
        return read


def _now(network: str) -> Any:
    settings = WORLDS[network].setup().world
    return settings.until or settings.start


async def _fresh(server: str, scene: Scene) -> str:
    """A database of its own on the server."""
    name = "hostile_" + "".join(letter if letter.isalnum() else "_" for letter in f"{scene.part}_{scene.attack}").lower()
    connection = await asyncpg.connect(server)
    await connection.execute(f"create database {name} strategy file_copy")
    await connection.close()
    return server.replace("/postgres?", f"/{name}?")
