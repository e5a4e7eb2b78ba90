"""Items per second from a page's bytes to objects: `python -m benchmarks.parse --json`.

Ours is the whole of `Provider.parse`: outcome, limits in the headers, every item mapped to the model with its raw bytes, HTML to
text, cursor. Named references on the same bytes: Mastodon.py's own way from body to entities (`json`, then its cast to
`PaginatableList[Status]`, as its client runs it after each request) and the atproto SDK's (`pydantic_core.from_json`, then
`get_or_create` of the response model). Pages are timelines of the simulated services, 40 posts each on Mastodon and 100 on
Bluesky; an item is a post listed on a page. Turns alternate and medians are compared: a busy machine slows both.

`--without-references` measures ours alone, where the packages of `requirements/benchmarks.txt` are not installed.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from msgspec import Struct

from bowerbird.model import Answer, Ask, Progress, Secret, Service
from bowerbird.providers import provider
from bowerbird.simulated.service import Setup, simulate
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.settings import to_ms

NOW = datetime(2026, 1, 9, 15, tzinfo=UTC)
BASE = "https://simulated.example"
WANTED = {"mastodon": 10.0, "bluesky": 3.0}
PAGES = 30
_MISSING = "is not installed: pip install -r requirements/benchmarks.txt"

Parser = Callable[[bytes], object]


class Recorded(Struct, frozen=True):
    """One page as it came, with the question it answers."""

    ask: Ask
    answer: Answer
    items: int


@cache
def world() -> World:
    return World(WorldSettings(accounts=600, seed=5))


def pages(network: str) -> list[Recorded]:
    """Timelines of the busiest writers, page by page, all of them good."""
    simulated, asked = simulate(Setup(dialect=network), world()), provider(network, now=lambda: NOW, base=BASE)
    token = next(iter(simulated.tokens)).value
    secret = Secret(name="t", values={"access_token": token, "access_jwt": token})
    service = simulated.described(BASE)
    found: list[Recorded] = []
    for account in (-world().people.rate).argsort().tolist():
        progress = Progress()
        while len(found) < PAGES and world().is_open(account, to_ms(NOW)):
            ask = Ask("timeline", (simulated.dialect.account_key(account),), progress)
            reply = simulated.receive(asked.sign(asked.request(ask), secret), NOW).reply
            answer = Answer(status=reply.status, headers=reply.headers, body=reply.body, sent_at=NOW, received_at=NOW)
            page = asked.parse(ask, answer, service)
            if page.posts and not page.broken:
                found.append(Recorded(ask, answer, page.results))
            if page.cursor is None or len(found) % 3 == 0:
                break
            progress = Progress(cursor=page.cursor)
    return found


def ours(network: str, recorded: Sequence[Recorded]) -> Callable[[], None]:
    asked, service = provider(network), Service(name="simulated", provider=network, base=BASE)

    def turn() -> None:
        for page in recorded:
            asked.parse(page.ask, page.answer, service)

    return turn


def theirs(network: str, recorded: Sequence[Recorded]) -> Callable[[], None]:
    parse = {"mastodon": _mastodon_py, "bluesky": _atproto}[network]()

    def turn() -> None:
        for page in recorded:
            parse(page.answer.body)

    return turn


def _mastodon_py() -> Parser:
    from mastodon.return_types import PaginatableList, Status, try_cast_recurse

    return lambda body: try_cast_recurse(PaginatableList[Status], json.loads(body))


def _atproto() -> Parser:
    from atproto_client import models
    from atproto_client.models.utils import get_or_create
    from pydantic_core import from_json

    shape = models.AppBskyFeedGetAuthorFeed.Response
    return lambda body: get_or_create(from_json(body), shape, strict=True)


def seconds(turn: Callable[[], None], least: float) -> float:
    """Processor seconds of one turn, over as many turns as fill the time."""
    turns, started = 0, time.process_time()
    while (passed := time.process_time() - started) < least or not turns:
        turn()
        turns += 1
    return passed / turns


def compared(network: str, rounds: int, least: float, *, has_reference: bool = True) -> dict[str, Any]:
    """Both on the same pages, in alternating rounds; without a reference ours alone."""
    recorded = pages(network)
    items = sum(page.items for page in recorded)
    contenders = {"ours": ours(network, recorded)}
    if has_reference:
        contenders["reference"] = theirs(network, recorded)
    for turn in contenders.values():
        turn()
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    gc.collect()
    for _ in range(rounds):
        for name, turn in contenders.items():
            taken[name].append(seconds(turn, least))
    rates = {name: items / statistics.median(values) for name, values in taken.items()}
    figures = {
        "pages": len(recorded),
        "items": items,
        "bytes": sum(len(page.answer.body) for page in recorded),
        "items_per_second": round(rates["ours"]),
    }
    if not has_reference:
        return figures
    library = {"mastodon": "Mastodon.py", "bluesky": "atproto"}[network]
    return figures | {
        "reference": f"{library} {version(library)}",
        "reference_items_per_second": round(rates["reference"]),
        "ratio": round(rates["ours"] / rates["reference"], 2),
        "wanted": WANTED[network],
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--seconds", type=float, default=0.5, help="processor time of each contender in each round")
    arguments.add_argument("--without-references", action="store_true", help="measure ours alone")
    chosen = arguments.parse_args()
    figures: dict[str, Any] = {}
    if chosen.without_references:
        print(json.dumps({name: compared(name, chosen.rounds, chosen.seconds, has_reference=False) for name in WANTED}))
        return 0
    for network in WANTED:
        try:
            figures[network] = compared(network, chosen.rounds, chosen.seconds)
        except ModuleNotFoundError as error:
            print(f"{network}: {error.name} {_MISSING}", file=sys.stderr)
            figures[network] = {"ratio": None, "wanted": WANTED[network], "missing": f"{error.name} {_MISSING}"}
        else:
            print(f"{network}: {figures[network]}", file=sys.stderr)
    if chosen.json:
        print(json.dumps(figures))
    return 0 if all(each["ratio"] is not None and each["ratio"] >= each["wanted"] for each in figures.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
