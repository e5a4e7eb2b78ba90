"""Does a cut lose or double anything? Real connections to simulated networks, cut at random moments in the middle of bytes.

Two listeners hear the same stream over real sockets: one directly, one through a cable that is cut again and again, with
outages in between. Both are the real engine with a store of its own. At the end everything that the undisturbed one has
(posts, deletions, edits, follows, account events) is looked for in the other's store. Where the network has cursors, nothing
may be missing. Where it has none, whatever is missing must lie in a gap that the store has recorded: posts by the network's
own time, other events by the time we would have heard them. Gaps are filled over REST where the network can, through the
same cable; `filled` counts the posts that this brought back.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs

from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.evaluate.stream.cutter import Cable, cable
from bowerbird.evaluate.stream.listening import Listener, listening
from bowerbird.evaluate.stream.scenes import SCENES, Scene
from bowerbird.evaluate.stream.standstill import Standstill, standing_still
from bowerbird.evaluate.stream.stores import Heard, Window, gaps, heard, is_recorded, referring
from bowerbird.model import EPOCH
from bowerbird.ports import Clock
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import WorldSettings

__all__ = ["SCENES", "evaluate_stream"]

PACE = 900.0
"""How fast the simulated world lives: a quarter of an hour in a second."""
_SLACK = timedelta(seconds=1)
_LATEST = timedelta(seconds=30)
"""How long the disturbed listener may take to receive the last changes. On a busy machine it takes many seconds."""
_PATIENCE = timedelta(days=1) / PACE
Say = Callable[[str], None]


def evaluate_stream(cuts: int, *, seed: int = 1, names: Sequence[str] = (), say: Say = print) -> dict[str, Any]:
    """Cuts each stream so many times; the figures."""
    unknown = [name for name in names if name not in {scene.name for scene in SCENES}]
    if unknown:
        raise UserError(
            f"there is no stream {unknown[0]!r}", f"there are {', '.join(scene.name for scene in SCENES)}", code="unknown_name"
        )
    scenes = [scene for scene in SCENES if not names or scene.name in names]
    return asyncio.run(_evaluate(scenes, cuts, seed, say))


async def _evaluate(scenes: Sequence[Scene], cuts: int, seed: int, say: Say) -> dict[str, Any]:
    clock = RealClock()
    began = clock.now()
    figures: dict[str, dict[str, Any]] = {}

    async def one(scene: Scene) -> None:
        chance = random.Random(f"{seed} {scene.name}")
        rounds = [min(scene.most_cuts, cuts - done) for done in range(0, cuts, scene.most_cuts)]
        figures[scene.name] = _summed([await _scene(scene, each, chance, clock) for each in rounds])
        say(f"{scene.name}: {_told(figures[scene.name])}")

    # Most of the time is waiting, so all scenes run beside each other.
    await asyncio.gather(*(one(scene) for scene in scenes))
    whole = {name: sum(each[name] for each in figures.values()) for name in ("cuts", "missing", "recorded_gaps", "doubled")}
    is_clean = all(_is_clean(scene, figures[scene.name]) for scene in scenes)
    seconds = round((clock.now() - began).total_seconds(), 1)
    return {"streams": {scene.name: figures[scene.name] for scene in scenes}, **whole, "is_clean": is_clean, "seconds": seconds}


def _summed(rounds: Sequence[dict[str, int]]) -> dict[str, int]:
    return {name: sum(each[name] for each in rounds) for name in rounds[0]}


def _is_clean(scene: Scene, figures: dict[str, Any]) -> bool:
    allowed = 0 if scene.has_cursor else figures["recorded_gaps"]
    return bool(figures["missing"] == allowed and not figures["doubled"] and figures["events"])


def _told(figures: dict[str, Any]) -> str:
    parts = [f"{figures[name]:,} {name}" for name in ("cuts", "events", "missing", "recorded_gaps", "filled", "doubled")]
    return ", ".join(parts).replace("_", " ")


async def _scene(scene: Scene, cuts: int, chance: random.Random, clock: Clock) -> dict[str, Any]:
    service = _service(scene, clock.now())
    tokens = [service.tokens.issue(scene.token, app=name, account=name) for name in ("whole", "cut")]
    with tempfile.TemporaryDirectory(prefix="bowerbird-stream-") as folder:
        folders = [Path(folder) / name for name in ("whole", "cut")]
        for each in folders:
            each.mkdir()
        async with (
            serve(service, clock) as base,
            cable(base, clock, chance) as (through, line),
            listening(scene, base, tokens[0], folders[0], clock) as whole,
            listening(scene, through, tokens[1], folders[1], clock) as cut,
            standing_still(Path(folder) / "written", clock) as standstill,
        ):
            act = _disturb(_Act(scene, service, clock, standstill), line, whole, cut, cuts, chance)
            try:
                return await asyncio.wait_for(act, _PATIENCE.total_seconds())
            except TimeoutError as error:
                raise UserError(
                    f"{scene.name} was not through {cuts} cuts after {_PATIENCE.total_seconds():.0f} seconds: a stream stands "
                    "still, or this machine has too much else to do.",
                    "Run it again when it has less, or with fewer cuts (--cuts)",
                ) from error


def _service(scene: Scene, now: datetime) -> SimulatedService:
    world = WorldSettings(
        seed=7,
        accounts=1_500,
        start=now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1),
        history=timedelta(days=2),
        longest_history=20,
        pace=PACE,
        since=now,
    )
    # The service's limits are not what is measured here; the provider learns the larger ones from its headers.
    return simulate(Setup(dialect=scene.dialect, world=world, scale=Scale(limits=200), tokens=0, sample=0.3))


class _Act:
    """One scene's service and its time."""

    def __init__(self, scene: Scene, service: SimulatedService, clock: Clock, standstill: Standstill) -> None:
        self.scene = scene
        self.service = service
        self.clock = clock
        self.standstill = standstill

    def moment(self) -> datetime:
        return self.service.world.settings.moment(self.clock.now())

    async def wait(self, span: timedelta) -> None:
        await self.clock.sleep_until(self.clock.now() + span)


async def _disturb(act: _Act, line: Cable, whole: Listener, cut: Listener, cuts: int, chance: random.Random) -> dict[str, Any]:
    for each in (whole, cut):
        await each.until_live()
    await act.wait(timedelta(seconds=1))
    after, heard_after = act.moment() + act.scene.late, act.clock.now()
    while line.cuts < cuts:
        await cut.until_live()
        await act.wait(timedelta(seconds=chance.expovariate(2.0)))
        await line.cut(timedelta(seconds=chance.choice((0.0, 0.05, chance.expovariate(1.5)))))
    await cut.until_live()
    await act.wait(timedelta(seconds=0.5))
    until, heard_until = act.moment(), act.clock.now()
    for each in (whole, cut):
        await each.until_heard(until + act.scene.late)
    window = Window(after=after, until=until, heard_after=heard_after, heard_until=heard_until)
    return await _compared(act, window, whole, cut) | {"cuts": line.cuts}


async def _compared(act: _Act, window: Window, whole: Listener, cut: Listener) -> dict[str, Any]:
    truth = await heard(whole.crawl.database, window)
    found = await _heard_late(act, window, cut, truth)
    known = await gaps(cut.crawl.database)
    slack = _SLACK + act.scene.late
    missing = {name: at for name, at in truth.posts.items() if name not in found.posts}
    told = truth.changes if act.scene.tells_changes else {}
    unheard = {name: at for name, at in told.items() if name not in found.changes}
    in_gaps = {name for name, at in missing.items() if is_recorded(at, known, is_ours=False, slack=slack)}
    # The network sends an older post along with one that refers to it: both are missing if the latter lies in a gap.
    referring_posts = await referring(whole.crawl.database)
    recorded = len(in_gaps) + sum(
        not in_gaps.isdisjoint(referring_posts.get(name.partition(" ")[0], ())) for name in missing.keys() - in_gaps
    )
    # One of the two may have heard of it later than the other, by as long as this machine stood still.
    slack = _SLACK + act.standstill.longest
    recorded += sum(is_recorded(at, known, is_ours=True, slack=slack) for at in unheard.values())
    return {
        "events": len(truth.posts) + len(told),
        "missing": len(missing) + len(unheard),
        "missing_posts": len(missing),
        "recorded_gaps": recorded,
        "gaps": len(known),
        "filled": await _filled(cut),
        "doubled": found.doubled,
        "connections": (await cut.report()).connections,
    }


async def _heard_late(act: _Act, window: Window, cut: Listener, truth: Heard) -> Heard:
    """What the disturbed one has. Changes are placed by our time and it may hear of them sooner or later than the other; some
    come with the answer to a call, for which it has some time."""
    end = act.clock.now() + _LATEST
    while True:
        now = act.clock.now()
        found = await heard(cut.crawl.database, structs.replace(window, heard_after=EPOCH, heard_until=now))
        if now >= end or not act.scene.has_cursor or truth.changes.keys() <= found.changes.keys():
            return found
        await act.wait(timedelta(seconds=0.5))


async def _filled(cut: Listener) -> int:
    """Posts that a REST listing brought before any stream did."""
    async with cut.crawl.database.reading() as tx:
        row = await tx.fetch_one(
            "select count(*) as count from posts p join calls c on c.call = p.found_by join gaps g on g.lane = c.lane "
            "where c.targets = g.target and g.gap = (select min(gap) from gaps where lane = c.lane)"
        )
    return int(row["count"]) if row else 0
