"""How quick one-line commands are: `python -m benchmarks.everyday --json`.

`timeline`, `search` and `hydrate` of 10,000 posts, each as a process of its own, from a simulated Bluesky in another process
that limits nobody, in turns with bare loops in the manner of twarc (`benchmarks/bare_everyday.py`: same HTTP client, one request
after the other, JSON lines out; no store, no limits, no way to go on). `ratio` is the bare loop's wall time over ours, for the
slowest of the three, and the least time of all rounds counts; `processor` is the same for processor time. What the server itself
takes is in both. `start`: processor time of `bowerbird --version` over that of `python -c "import typer, rich"`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import EPOCH, RealClock
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import WorldSettings

POSTS = 10_000
WORD = "the"
_START = {"bowerbird": ["-m", "bowerbird", "--version"], "typer_and_rich": ["-c", "import typer, rich"]}


class Scene(Struct, frozen=True):
    """A server that runs, and what there is to ask of it."""

    base: str
    user: str
    ids: list[str]
    identifier: str
    password: str


class Taken(Struct, frozen=True):
    """What one run took, in seconds."""

    wall: float
    processor: float
    rows: int = 0


def _service(posts: int) -> SimulatedService:
    """A world in which few write much: one of them at least as many posts as are asked for."""
    now = RealClock().now()
    world = WorldSettings(
        accounts=40,
        silent=0.0,
        posts_per_day=max(2.0, posts / 20),
        start=now - timedelta(days=1),
        until=now,
        longest_history=2 * posts,
        history=timedelta(days=400),
    )
    return simulate(Setup(dialect="bluesky", world=world, scale=Scale(limits=1e6), tokens=1))


def _scene(service: SimulatedService, base: str, posts: int) -> Scene:
    now, dialect, moment = RealClock().now(), service.dialect, int(RealClock().now().timestamp() * 1000)
    open_ones = [each for each in range(len(service.world)) if service.truth.is_collectable(each, now)]
    busiest = sorted(open_ones, key=lambda account: -service.world.post_count(account, moment))
    ids: list[str] = []
    for account in busiest:
        if len(ids) < posts:
            found = service.posts_to_find(dialect.account_key(account), EPOCH, now, now)
            ids += [key for key, gone in found.items() if gone is None and "/app.bsky.feed.post/" in key]
    token = next(iter(service.tokens))
    return Scene(base, dialect.handle_of(busiest[0], now), ids[:posts], token.account, token.secret)


async def _serve(posts: int) -> None:
    service = _service(posts)
    async with serve(service, RealClock()) as base:
        print(msgspec.json.encode(_scene(service, base, posts)).decode(), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def _serving(posts: int) -> Iterator[Scene]:
    line = [sys.executable, "-m", "benchmarks.everyday", "--serve", "--posts", str(posts)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the server has no pipes")
        yield msgspec.json.decode(process.stdout.readline(), type=Scene)
        process.stdin.close()


def _run(arguments: list[str], folder: Path) -> Taken:
    # As an installed program: what was compiled once is not compiled again.
    environment = os.environ | {"BOWERBIRD_HOME": str(folder / "home"), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, began = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment, timeout=600)
    wall, after = time.perf_counter() - began, os.times()
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments[:4])} ended with {done.returncode}: {done.stderr[-500:]}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    last = done.stdout.splitlines()[-1:] or ["0"]
    told = json.loads(last[0]) if last[0][:1] in "{0123456789" else 0
    return Taken(wall, spent, told["rows"] if isinstance(told, dict) else told)


def _login(scene: Scene, folder: Path) -> None:
    fields = {"BOWERBIRD_SECRET_IDENTIFIER": scene.identifier, "BOWERBIRD_SECRET_APP_PASSWORD": scene.password}
    line = [sys.executable, "-m", "bowerbird", "credentials", "add", "mine", "--provider", "bluesky", "--server", scene.base]
    environment = os.environ | fields | {"BOWERBIRD_HOME": str(folder / "home")}
    subprocess.run(line, check=True, capture_output=True, env=environment)


def _token(scene: Scene) -> str:
    """A session for the bare loop."""
    import urllib.request

    body = json.dumps({"identifier": scene.identifier, "password": scene.password}).encode()
    address = f"{scene.base}/xrpc/com.atproto.server.createSession"
    asked = urllib.request.Request(address, body, {"content-type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        return str(json.load(answer)["accessJwt"])


def _lines(scene: Scene, folder: Path, posts: int, number: int) -> Iterator[tuple[str, list[str], list[str]]]:
    """The commands, each with its bare loop."""
    (folder / "ids.txt").write_text("\n".join(scene.ids))
    here, limit, token = ["--on", scene.base, "--provider", "bluesky"], str(posts), _token(scene)
    for name, target, ours in (
        ("timeline", scene.user, ["timeline", scene.user, "--limit", limit]),
        ("search", WORD, ["search", WORD, "--limit", limit]),
        ("hydrate", str(folder / "ids.txt"), ["hydrate", "-i", str(folder / "ids.txt")]),
    ):
        out = folder / f"{name}-{number}"
        line = ["-m", "bowerbird", *ours, *here, "-o", f"{out}.jsonl", "--json", "--quiet"]
        yield name, line, ["-m", "benchmarks.bare_everyday", name, scene.base, target, limit, f"{out}-bare.jsonl", token]


def measure(posts: int = POSTS, rounds: int = 3) -> dict[str, Any]:
    least: dict[str, Taken] = {}
    with tempfile.TemporaryDirectory() as made, _serving(posts) as scene:
        folder = Path(made)
        _login(scene, folder)
        for number in range(rounds):
            for name, ours, bare in _lines(scene, folder, posts, number):
                _note(least, f"bare_{name}", _run(bare, folder))
                _note(least, name, _run(ours, folder))
            for name, line in _START.items():
                _note(least, name, _run(line, folder))
    return _figures(least)


def _note(least: dict[str, Taken], name: str, taken: Taken) -> None:
    before = least.get(name, taken)
    least[name] = Taken(min(before.wall, taken.wall), min(before.processor, taken.processor), taken.rows)


def _figures(least: dict[str, Taken]) -> dict[str, Any]:
    commands = ("timeline", "search", "hydrate")
    wall = {name: round(least[f"bare_{name}"].wall / least[name].wall, 2) for name in commands}
    processor = {name: round(least[f"bare_{name}"].processor / least[name].processor, 2) for name in commands}
    return {
        "ratio": min(wall.values()),
        "by_command": wall,
        "processor": processor,
        "rows": {name: (taken.rows, least[f"bare_{name}"].rows) for name in commands if (taken := least[name])},
        "seconds": {name: round(taken.wall, 2) for name, taken in least.items()},
        "start": round(least["bowerbird"].processor / least["typer_and_rich"].processor, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--posts", type=int, default=POSTS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve(options.posts))
        return
    figures = measure(options.posts, options.rounds)
    for name, seconds in figures["seconds"].items():
        print(f"{name:>15} {seconds:8.2f} s")
    print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    main()
