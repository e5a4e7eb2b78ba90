"""Note the keys of `--json` outputs and exit codes, from commands on small simulated stores.

Lists are written `[]`, what is in tables keyed by data `{}`. A type is that of the values that were
seen. Which values are missing is not part of the surface: `null` and `empty` are written only
where no other value was seen.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hostile_store import fill_hostile
from simulated_server import Server, running

from bowerbird import cli
from bowerbird.clock import RealClock, VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.settings import load_settings
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.tags import EVENTS_PER_DAY, event_number, event_tag, tag_name
from bowerbird.simulated.world.settings import PlannedEvent

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
DAY = timedelta(days=1)
USUAL = WorldSettings(
    seed=3,
    accounts=80,
    following=8.0,
    posts_per_day=6,
    history=2 * DAY,
    longest_history=20,
)
MIXED = WorldSettings(seed=9, accounts=120, mixed=True, likes_per_post=0.0)
PLANNED = PlannedEvent(begins=START - timedelta(hours=1), posts=1_500)
EVENTFUL = WorldSettings(
    seed=3,
    accounts=200,
    start=START - DAY,
    following=8.0,
    posts_per_day=10,
    history=DAY,
    longest_history=5,
    planned=PLANNED,
)
KEYWORD = f"#{tag_name(event_tag(event_number(1, EVENTS_PER_DAY - 1), 1))}"
KEYWORDS = '[keywords]\nmethods = ["burst", "skwa"]\nframe = "15m"\nmin_frequency = 2\n'

KEYED_BY_DATA = tuple(
    re.compile(pattern)
    for pattern in (
        r".* \.(buckets|closed|facets|fields|months|outcomes|seeds_closed|streams)",
        r"(?!dehydrate ).* \.left_out",
        r".* .*(\.counts|\.evidence|\.numbers|_numbers|\.thresholds)",
        r"cascade .*\.how",
        r"community rejudge \.changed",
        r"community show \.(mentioned|values|versions|reasons(\{\})?)",
        r"completeness (\..*\.totals|\.posts\.(captured|others))",
        r"flow show .*\.(hints|options)",
        r"keywords .*\.(categories|keywords|retained|shared)",
        r"places \.jaccard\.(posts|users)(\{\})?",
        r"plot \.(files|figures\.(activity|degrees(\{\})?|delays))",
        r"plot \.figures\.keywords\.(background|noise|posts|traffic)(\{\})?",
        r"plot \.figures\.(volumes|words)\[\]\.posts",
        r"query \.rows\[\]",
        r"status \.(calls|media|months|posts|lanes\[\]\.tasks)",
    )
)
"""Tables whose keys are names of facets, days, words and the like: `COMMAND PATH`."""

NOT_RUN = {
    "counts": "only X has it, and bills it",
    "demo": "takes a minute",
    "serve": "runs until it is stopped",
    "simulate": "runs until it is stopped",
    "evaluate": "prints measurements, no interface",
    "keywords --plot": "the name of its file, and what plot keywords prints",
    "stream": "ends with what the other commands of one line print",
    "worker run": "ends with what crawl prints",
    "(standard error)": "progress, of which there is more or less with time",
}
"""Commands whose `--json` output is not recorded, and why."""


class Runs:
    """Runs commands, and collects what they printed."""

    def __init__(self) -> None:
        self._types: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._codes: set[str] = set()

    def json(self, label: str, *arguments: str | Path, code: int | None = 0) -> Any:
        """Run a command with `--json`, return what it printed; `code` None: it may end anyhow."""
        _, out, _ = self._run([*map(str, arguments), "--json"], code)
        values = json.loads(out.splitlines()[-1])
        self._add(label, values)
        return values

    def fails(self, *arguments: str | Path) -> None:
        """Run a command that fails with `--json`."""
        _, _, err = self._run([*map(str, arguments), "--json"])
        self._add("(error on standard error)", json.loads(err.splitlines()[-1]))

    def exits(self, when: str, *arguments: str | Path) -> None:
        """Run a command; the code with which it ends becomes a line of the surface."""
        code, _, _ = self._run([*map(str, arguments)])
        self._codes.add(f"exit {code}: {when}")

    def lines(self) -> list[str]:
        """Return what was found, one fact a line."""
        seen = sorted(self._types)
        found = [
            f"json {label} {path}: {' or '.join(_said(self._types[label, path]))}"
            for label, path in seen
            if self._types[label, path] - {"null", "empty"} or not self._has_keys(label, path)
        ]
        left_out = [f"json {label}: not recorded, {why}" for label, why in NOT_RUN.items()]
        return sorted([*found, *left_out, *self._codes])

    def _has_keys(self, label: str, path: str) -> bool:
        """Whether the value was a table or a list with something in it elsewhere."""
        below = tuple(path + mark for mark in ".[{")
        return any(each == label and inner.startswith(below) for each, inner in self._types)

    def _run(self, arguments: list[str], code: int | None = None) -> tuple[int, str, str]:
        """Return the exit code, which must be `code` if that is given, and what was written."""
        # They stay open: logs go to standard error as it was when they were set up.
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            ended = cli.run(arguments)
        if code is not None and ended != code:
            command = f"bowerbird {' '.join(arguments)}"
            told = f"exit code {ended}, not {code}: {err.getvalue()}"
            raise RuntimeError(f"{command} ended with {told}")
        return ended, out.getvalue(), err.getvalue()

    def _add(self, label: str, values: Any) -> None:
        for path, kind in key_paths(label, "", values):
            self._types[label, path].add(kind)


def key_paths(label: str, path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the path and the type of every value that is no table or list, or is an empty one."""
    if isinstance(value, dict):
        is_open = any(pattern.fullmatch(f"{label} {path}") for pattern in KEYED_BY_DATA)
        if is_open or not value:
            yield path or ".", "keyed by data" if is_open else "empty"
        for name, inner in value.items():
            if not is_open:
                yield from key_paths(label, f"{path}.{name}", inner)
            elif isinstance(inner, dict | list):
                yield from key_paths(label, f"{path}{{}}", inner)
    elif isinstance(value, list):
        if not value:
            yield f"{path}[]", "empty"
        for inner in value:
            yield from key_paths(label, f"{path}[]", inner)
    else:
        kinds = {bool: "truth", int: "number", float: "number", str: "text", type(None): "null"}
        yield path, kinds[type(value)]


def _said(types: set[str]) -> list[str]:
    return sorted(types - {"null", "empty"}) or sorted(types)


def crawl(
    store: Path,
    flow: str,
    seeds: Sequence[str],
    more: str,
    dialect: str,
    world: WorldSettings,
) -> None:
    """Crawl a simulated service in virtual time."""

    async def main(clock: VirtualClock) -> None:
        laboratory = Laboratory(Setup(dialect=dialect, world=world), clock)
        chosen = seeds or laboratory.keys(12)
        plan = laboratory.plan(f'flow = "{flow}"', chosen, more, store=str(store))
        async with laboratory.crawl(plan) as opened:
            await laboratory.run(opened)

    run_virtual(main, start=START)


def output_lines() -> list[str]:
    """Return the facts about outputs and exit codes."""
    runs = Runs()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        stack.enter_context(chdir(folder))
        # The index of places takes seconds to make, and is kept where it usually is.
        folders = {"HOME": folder / "home", "CACHE_FOLDER": load_settings().cache_folder}
        variables = {f"BOWERBIRD_{name}": str(path) for name, path in folders.items()}
        stack.enter_context(patch.dict(os.environ, variables))
        community(runs, folder)
        places(runs, folder)
        del os.environ["BOWERBIRD_CACHE_FOLDER"]
        event(runs, folder)
        trouble(runs, folder)
        sample(runs, folder)
        topic(runs, folder)
        server = stack.enter_context(running())
        everyday(runs, server)
        crawling(runs, server, folder)
        upkeep(runs, folder)
        failures(runs, folder)
    return runs.lines()


def community(runs: Runs, folder: Path) -> None:
    """Record what is said of a community."""
    store, file = folder / "community.db", folder / "community.toml"
    runs.json("community new", "community", "new", "PT", "pt.toml")
    runs.json("community check", "community", "check", "pt.toml")
    modules = 'modules.mentions.every = "10m"\nmodules.growth.every = "10m"\n'
    crawl(
        store,
        "community",
        [],
        f'stop.calls = 30\ncommunity.file = "{folder}/pt.toml"\n{modules}',
        "bluesky",
        MIXED,
    )
    service = '[service]\nprovider = "bluesky"\nbase = "https://simulated.example"\n'
    keys = f'name = "laboratory"\nflow = "community"\nstore = "{store}"\nseeds = ["1"]\n'
    file.write_text(f'{keys}community.file = "pt.toml"\n{service}')
    for which in ("members", "mentioned", "undecided"):
        people = runs.json("community list", "community", "list", which, store)["people"]
    someone = people[0]["id"]
    runs.json("community show", "community", "show", store)
    runs.json("community why", "community", "why", someone, store)
    runs.json("community overrule", "community", "overrule", someone, store, "--as", "no")
    runs.json("community confirm", "community", "confirm", someone, store, "--by", "ada")
    runs.json("community why", "community", "why", someone, store)
    runs.json("community free", "community", "free", someone, store)
    runs.json("community rejudge", "community", "rejudge", file)
    (folder / "labels.csv").write_text(f"id,label\n{someone},yes\n")
    runs.json("judge", "judge", store, "--labels", "labels.csv")
    runs.json("modules", "modules", store)
    runs.json("modules run", "modules", store, "run", "growth")
    runs.json("modules runs", "modules", store, "runs", "growth")
    runs.json("modules names", "modules", store, "names")
    reading(runs, store)


def places(runs: Runs, folder: Path) -> None:
    """Record what is said of places."""
    store = folder / "places.db"
    country = '[[places]]\nname = "Portugal"\n'
    box = '[[places]]\nname = "box"\nbox = [-9.5, 38.0, -6.0, 42.0]\n'
    crawl(store, "places", [], f"stop.calls = 12\n{country}{box}", "bluesky", USUAL)
    runs.json("places", "places", store)


def trouble(runs: Runs, folder: Path) -> None:
    """Record what is said of a store with one of everything that goes wrong."""
    store = folder / "trouble.db"
    asyncio.run(fill_hostile(str(store)))
    reading(runs, store)


def event(runs: Runs, folder: Path) -> None:
    """Record what is said of an event."""
    store = folder / "event.db"
    crawl(store, "event", [KEYWORD], f'stop.duration = "35m"\n{KEYWORDS}', "bluesky", EVENTFUL)
    runs.json("keywords", "keywords", store)
    runs.json("keywords --frames", "keywords", store, "--frames")
    runs.json("keywords --related", "keywords", store, "--related", KEYWORD)
    runs.json("plot", "plot", "all", store, "--out", "figures", "--word", KEYWORD)
    runs.json("keywords why", "keywords", store, "why", KEYWORD)
    runs.json("keywords pin", "keywords", store, "pin", "#pinned")
    runs.json("keywords block", "keywords", store, "block", "#blocked")
    runs.json("keywords free", "keywords", store, "free", "#blocked")
    runs.json("keywords seeds", "keywords", store, "seeds", "--since", "2026-01-05")
    (folder / "terms.csv").write_text(f"term,label\n{KEYWORD},related\n")
    runs.json("keywords grade", "keywords", store, "grade", "--labels", "terms.csv")
    runs.json("keywords grade --frames", "keywords", store, "grade", "--frames")
    reading(runs, store)


def sample(runs: Runs, folder: Path) -> None:
    """Record what is said of a random sample."""
    store = folder / "sample.db"
    crawl(store, "sample", [], "stop.calls = 40", "mastodon", USUAL)
    runs.json("sample", "sample", store)
    reading(runs, store)


def topic(runs: Runs, folder: Path) -> None:
    """Record what is read of a store, and what is written of it."""
    store = folder / "topic.db"
    crawl(store, "topic", ["#music"], 'stop.duration = "20m"', "mastodon", USUAL)
    reading(runs, store)
    runs.json("compare", "compare", store, folder / "sample.db")
    runs.json("query", "query", "select * from v_posts", store, "--top", "2")
    runs.json("query --out", "query", "select * from v_posts", store, "--out", "rows.csv")
    runs.json("card", "card", store, "--out", "card.md")
    runs.json("dehydrate", "dehydrate", store, "--out", "ids.txt")
    runs.json("export", "export", "posts", store, "--out", "posts.csv")
    runs.json("export network", "export", "network", store, "--out", "graph.gexf")


def reading(runs: Runs, store: Path) -> None:
    """Record what the reports say of a store."""
    for command in ("status", "completeness", "gone", "overlap", "places", "cascade"):
        runs.json(command, command, store)
    sql = "select id from v_users order by name is null, id limit 1"
    found = runs.json("query", "query", sql, store)["rows"]
    runs.json("history", "history", found[0]["id"], store)


def everyday(runs: Runs, server: Server) -> None:
    """Record what one-line commands say in the end."""
    now, service = RealClock().now(), server.service
    accounts = range(len(service.world))
    account = next(each for each in accounts if service.truth.is_collectable(each, now))
    handle, post = f"@{service.dialect.handle_of(account, now)}", server.post_keys(1)[0]
    on = ("--on", server.base, "--provider", service.dialect.name)
    told = {
        **dict.fromkeys(("timeline", "timelines", "followers", "following", "users"), handle),
        **dict.fromkeys(("hydrate", "thread", "reposts"), post),
        **dict.fromkeys(("search", "searches"), "#music"),
    }
    for command, what in told.items():
        runs.json(command, command, what, "--limit", "3", *on, "--out", f"{command}.jsonl")
    runs.json("trends", "trends", *on, "--out", "trends.jsonl")
    runs.json("users", "users", "@nobody_here", *on, "--out", "nobody.jsonl", code=3)
    runs.exits(
        "a question could not be answered",
        "users",
        "@nobody_here",
        *on,
        "--quiet",
        "--out",
        "nobody.jsonl",
    )


def crawling(runs: Runs, server: Server, folder: Path) -> None:
    """Record what is said around a crawl of a server."""
    file = server.crawl_file(folder / "crawl.toml", seeds=10, more="stop.calls = 5")
    token = next(each for each in server.service.tokens if each.kind == "user")
    os.environ["BOWERBIRD_SECRET_ACCESS_TOKEN"] = token.value
    provider = server.service.dialect.name
    runs.json(
        "credentials add",
        "credentials",
        "add",
        "mine",
        "--provider",
        provider,
        "--kind",
        "user",
        "--server",
        server.base,
    )
    runs.json("credentials list", "credentials", "list")
    runs.json("credentials bind", "credentials", "bind", "mine", "--server", server.base)
    runs.json("init", "init", "made.toml", "--flow", "topic")
    runs.json("flow list", "flow", "list")
    runs.json("flow show", "flow", "show", "topic")
    runs.json("flow check", "flow", "check", file)
    runs.json("flow copy", "flow", "copy", "topic")
    # The machine may have a problem of its own.
    runs.json("doctor", "doctor", file, code=None)
    runs.json("plan", "plan", file, "--no-variants", "--jobs", "1")
    runs.json("crawl", "crawl", file)
    runs.json("status", "status", file)
    runs.json("audit posts", "audit", "posts", file, "--accounts", "2")
    for command, code in {"pause": 1, "resume": 1, "stop": 0}.items():
        runs.json(command, command, file, code=code)
    runs.json("worker list", "worker", "list", file)
    runs.json("credentials remove", "credentials", "remove", "mine")


def upkeep(runs: Runs, folder: Path) -> None:
    """Record what is said while a store is looked after."""
    store = folder / "topic.db"
    runs.json("backup", "backup", store, "copy.db")
    runs.json("restore", "restore", "copy.db", "restored.db")
    runs.json("remap", "remap", store)
    runs.json("scrub", "scrub", store)
    found = runs.json("query", "query", "select id from v_users limit 1", store)["rows"]
    runs.json("forget --dry-run", "forget", found[0]["id"], "--store", store, "--dry-run")
    runs.json("forget", "forget", found[0]["id"], "--store", store, "--yes")
    runs.json("forget --list", "forget", "--list", "--store", store)
    runs.json("forget --share", "forget", "--share", "marks.txt", "--store", store)
    runs.json("forget --apply-to", "forget", "--apply-to", "posts.csv", "--store", store, "--yes")
    (folder / "password").write_text("correct horse battery staple")
    runs.json("people add", "people", "add", "ada", "--password-file", "password", "--store", store)
    runs.json("people list", "people", "list", "--store", store)
    runs.json("people role", "people", "role", "ada", "admin", "--store", store)
    runs.json(
        "people password",
        "people",
        "password",
        "ada",
        "--password-file",
        "password",
        "--store",
        store,
    )
    runs.json("people remove", "people", "remove", "ada", "--store", store)
    runs.json("worker tokens add", "worker", "tokens", "add", "one", "--store", store)
    runs.json("worker tokens list", "worker", "tokens", "list", "--store", store)
    runs.json("worker tokens revoke", "worker", "tokens", "revoke", "one", "--store", store)


def failures(runs: Runs, folder: Path) -> None:
    """Record with which code commands end that cannot do what they are told."""
    runs.fails("status", "missing.db")
    runs.exits("done", "--version")
    runs.exits("doctor found a problem", "doctor", "--database", "missing/crawl.db")
    runs.exits("no process runs the crawl that is to pause, resume or stop", "pause", "topic.db")
    runs.exits("there is no such command", "fly")
    runs.exits("there is no such option", "status", "--fly")
    runs.exits("there is no such store", "status", "missing.db")
    runs.exits("PostgreSQL does not answer", "status", "postgresql://ada@127.0.0.1:1/crawl")
