"""Draws the pictures of the documentation: `python docs/draw_pictures.py` writes docs/pictures/; a test fails when it is behind.

They show a real crawl in virtual time, its live display and figures of what it collected: the same seed gives the same pictures.
"""

from __future__ import annotations

import io
import re
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, structs
from rich.console import Console
from rich.terminal_theme import TerminalTheme

from bowerbird.cli.live.panel import panel
from bowerbird.cli.live.run import run_shown
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.export.plots.canvas import Canvas
from bowerbird.export.plots.drawings import draw_rhythm, draw_volumes
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.figures.volumes import Volume, read_rhythm, read_volumes
from bowerbird.reports.figures.written import Chosen
from bowerbird.reports.status.glimpse import Glimpse
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

FOLDER = Path(__file__).parent / "pictures"
_AFTER = timedelta(minutes=3, seconds=40)
_BLACK, _WHITE = (18, 22, 28), (220, 226, 234)
_COLOURS = [
    (30, 36, 45),
    (224, 108, 117),
    (120, 190, 130),
    (214, 170, 90),
    (110, 160, 220),
    (190, 140, 210),
    (95, 180, 190),
    _WHITE,
]
_NOTE = "Source: elections.db (simulated), collected with bowerbird"


class Seen(Struct, frozen=True):
    """A crawl at one moment, and what it had collected."""

    glimpse: Glimpse
    volumes: list[Volume]
    rhythm: list[list[int]]


class _Remembering:
    """A view that keeps the last thing it was shown."""

    every = timedelta(seconds=10)

    def __init__(self) -> None:
        self.last: Glimpse | None = None

    def show(self, glimpse: Glimpse) -> None:
        if glimpse.state == "running":
            self.last = glimpse

    def say(self, words: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def seen() -> Seen:
    """A crawl of timelines of a simulated Mastodon server, after some minutes."""

    async def main(clock: VirtualClock) -> Seen:
        world = WorldSettings(seed=7, accounts=1_000, start=clock.now(), history=timedelta(days=30))
        laboratory = Laboratory(Setup(dialect="mastodon", world=world, tokens=2), clock)
        until, view = clock.now() + _AFTER, _Remembering()
        month = Chosen(since=clock.now() - timedelta(days=30))
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(250))
        async with laboratory.crawl(plan) as crawl:
            await run_shown(crawl, laboratory.outside(), view, enough=lambda glimpse: "seen" if glimpse.now >= until else "")
            async with crawl.database.reading() as tx:
                volumes, rhythm = await read_volumes(tx, month, Unit.DAY), await read_rhythm(tx, month)
        if view.last is None:
            raise RuntimeError("the crawl was never seen running")
        return Seen(structs.replace(view.last, name="elections", store="elections.db"), volumes, rhythm)

    return run_virtual(main)


def drawn() -> dict[str, str]:
    """Every picture, by the name of its file."""
    found = seen()
    return {
        "live.svg": _screen(found.glimpse),
        "volumes.svg": _figure(draw_volumes(found.volumes, Unit.DAY, _NOTE)),
        "rhythm.svg": _figure(draw_rhythm(found.rhythm, _NOTE)),
    }


def _screen(glimpse: Glimpse) -> str:
    console = Console(
        file=io.StringIO(), width=84, height=30, record=True, force_terminal=True, color_system="truecolor", highlight=False
    )
    console.print(panel(glimpse, console))
    theme = TerminalTheme(_BLACK, _WHITE, _COLOURS)
    picture = console.export_svg(title="bowerbird crawl elections.toml", theme=theme, unique_id="live")
    # The reader's own fonts: nothing is fetched from elsewhere.
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)


def _figure(canvas: Canvas) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "figure.svg"
        canvas.save(path)
        return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, picture in drawn().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
        print(f"docs/pictures/{name} is drawn")
