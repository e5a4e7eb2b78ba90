"""The demo's last page: what was found, at what price, and what to try next."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import Any

from rich.table import Table
from rich.text import Text

from bowerbird.cli.demo_stage.found import Found
from bowerbird.cli.demo_stage.scene import CAUGHT_UP, WINDOWS, Scene
from bowerbird.cli.live.run import Run
from bowerbird.cli.screens.amounts import numbers, post_counts
from bowerbird.cli.screens.output import Output

_THROTTLES = {
    "throttle_per_token_api": "calls per token",
    "throttle_authenticated_api": "calls per account",
    "throttle_authenticated_paging": "paged calls per account",
}
_ABOUT_TRUTH = (
    "by the truth of the simulated server; `status`, `completeness` and the dashboard know what services tell alone: they count "
    "posts that nobody is shown as missing, and those that came along as captured"
)


def show_verdict(output: Output, scene: Scene, run: Run, found: Found) -> None:
    """The summary for people."""
    is_done = run.ending.reason.problem == CAUGHT_UP
    output.line(
        f"{'Done in' if is_done else 'Ended after'} {numbers.span(run.last.elapsed)}: {run.ending.reason}.",
        style="bold green" if is_done else "bold yellow",
    )
    output.line()
    _table(output, _rows(scene, run, found))
    output.line()
    output.line("Try next", style="bold")
    for command, about in _next(scene):
        output.line(f"  # {about}", style="dim")
        output.line(f"  {command}")


def verdict_values(scene: Scene, found: Found) -> dict[str, Any]:
    """The summary for machines."""
    return {
        "posts_found": found.posts,
        "posts_there": found.posts_there,
        "profiles_found": found.profiles,
        "profiles_there": found.profiles_there,
        "completeness": round(found.posts / found.posts_there, 5) if found.posts_there else None,
        "opted_out": found.opted_out,
        "closed": found.closed,
        "refused": found.refused,
        "quota": {name: {"used": used, "allowed": allowed} for name, (used, allowed) in found.quota.items()},
        "database": _database(scene),
    }


def _rows(scene: Scene, run: Run, found: Found) -> list[tuple[str, str]]:
    speed = numbers.rate(run.last.run.calls / max(1.0, run.last.elapsed.total_seconds()))
    return [
        ("stored", post_counts.told(run.fates)),
        ("posts", _of(found.posts, found.posts_there, "that anyone may read")),
        ("", _ABOUT_TRUTH),
        ("profiles", _of(found.profiles, found.profiles_there, "open accounts among the seeds")),
        (
            "left alone",
            f"{found.opted_out:,} seeds asked not to be collected; {found.closed:,} more are closed or gone",
        ),
        ("calls", f"{run.last.run.calls:,} over HTTP, {speed}"),
        ("refusals", f'{found.refused:,} answers "too many requests" from the server'),
        *_quota(found),
        ("limits", f"the server's real ones, in windows {round(1 / WINDOWS)} times shorter"),
        ("database", str(_database(scene))),
    ]


def _quota(found: Found) -> list[tuple[str, str]]:
    """The throttles, the most used one first."""
    shares = sorted(found.quota.items(), key=lambda item: -item[1][0] / max(1, item[1][1]))
    lines = [f"{numbers.share(*use):>6} of {_THROTTLES.get(name, name)} ({use[0]:,} of {use[1]:,})" for name, use in shares[:3]]
    return [("quota used" if number == 0 else "", line) for number, line in enumerate(lines)]


def _of(part: int, whole: int, what: str) -> str:
    return f"{part:,} of {whole:,} {what}: {numbers.share(part, whole)}"


def _table(output: Output, rows: list[tuple[str, str]]) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(f"  {name}", Text(value))
    output.console.print(table, soft_wrap=False)


def _database(scene: Scene) -> Path:
    return scene.folder / "demo.db"


def _next(scene: Scene) -> list[tuple[str, str]]:
    program, query = _program(), "select handle, posts from users order by posts desc limit 5"
    data = f"import sqlite3; print(*sqlite3.connect('file:{_database(scene)}?mode=ro', uri=True).execute('{query}'), sep='\\n')"
    return [
        (f"{program} status {_database(scene)}", "how the crawl stands: what is stored, what waits, limits, trouble"),
        (f"{program} serve {_database(scene)}", "the same in a browser: the dashboard (needs bowerbird[web])"),
        (f"{program} flow show timelines", "the automaton that just ran"),
        (f'python3 -c "{data}"', "who wrote most: the database is plain SQLite"),
        (f"{program} init", "a crawl file of your own"),
    ]


def _program() -> str:
    """What the user has to type to run us from here."""
    if which("bowerbird"):
        return "bowerbird"
    own = Path(sys.argv[0]).absolute()
    return str(own.relative_to(Path.cwd())) if own.is_relative_to(Path.cwd()) else str(own)
