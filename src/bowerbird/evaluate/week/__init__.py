"""Does a researcher's first week go with one command for each thing? Twenty things, on every network that can, held against
what is true there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bowerbird.evaluate.week import collected, results
from bowerbird.evaluate.week.running import Runner, in_process_of_its_own
from bowerbird.evaluate.week.scene import Failed, Scene
from bowerbird.evaluate.week.serving import NETWORKS, Server, serving

Doing = Callable[[Scene, Server], None]
_NO_V1 = ("bluesky", "mastodon", "x", "weibo")
_STREAMING = ("bluesky", "mastodon", "x", "twitter_v1")


class Thing(Struct, frozen=True):
    """Something that a researcher does in a first week."""

    what: str
    do: Doing
    networks: tuple[str, ...] = NETWORKS
    """Those whose API can be asked for it."""


THINGS = (
    Thing("one user's posts to CSV", collected.posts_of_one),
    Thing("many users' posts from a CSV", collected.posts_of_many),
    Thing("one keyword now", collected.one_keyword),
    Thing("several keywords", collected.several_keywords),
    Thing("who follows an account, as edges", collected.followers),
    Thing("whom an account follows, as edges", collected.following),
    Thing("ids back to posts", collected.ids_to_posts),
    Thing("a conversation", collected.conversation, _NO_V1),
    Thing("who passed a post on", collected.passed_on),
    Thing("profiles of a list of accounts", collected.profiles),
    Thing("a stream with a word", collected.listening, _STREAMING),
    Thing("trends", collected.trends, _NO_V1),
    Thing("how many posts there are", collected.counts, ("x",)),
    Thing("posts of a crawl as CSV and Parquet", results.posts_as_files),
    Thing("a follow network as GEXF", results.follow_network),
    Thing("what is missing", results.missing),
    Thing("a question in SQL", results.by_sql),
    Thing("a plot", results.picture),
    Thing("a dataset card", results.dataset_card),
    Thing("a person deleted on request", results.forget_a_person),
)


def evaluate_week(
    *,
    networks: Sequence[str] = (),
    run: Callable[[Path], Runner] = in_process_of_its_own,
    say: Callable[[str], object] = lambda words: None,
) -> dict[str, Any]:
    """`one_command`: how many of the things worked with one command, on every network (of those named) that can."""
    asked = [name for name in NETWORKS if not networks or name in networks]
    with tempfile.TemporaryDirectory() as folder, serving(asked) as still:
        scene = Scene(folder=Path(folder), run=run(Path(folder)), networks=still)
        for name in asked:
            scene.add_key(still[name])
        unprepared = {name: why for name in asked if (why := _tried(results.prepare, scene, name))}
        able = [(thing, [name for name in thing.networks if name in asked]) for thing in THINGS]
        rows = [_done(scene, thing, where, unprepared, say) for thing, where in able if where]
    return {
        "one_command": sum(row["worked"] for row in rows),
        "things": len(rows),
        "networks": asked,
        "commands": len(scene.typed),
        "rows": rows,
        "is_clean": all(row["worked"] for row in rows),
    }


def _done(
    scene: Scene, thing: Thing, networks: Sequence[str], unprepared: dict[str, str], say: Callable[[str], object]
) -> dict[str, Any]:
    """What came of one thing, network by network."""
    failed = {}
    for name in networks:
        why = unprepared.get(name, "") if thing.do.__module__ == results.__name__ else ""
        why = why or _tried(thing.do, scene, name)
        if why:
            failed[name] = why
    say(f"{'FAILED' if failed else 'ok':>6}  {thing.what} ({', '.join(networks)})")
    for name, why in failed.items():
        say(f"          {name}: {why}")
    return {"thing": thing.what, "networks": list(networks), "worked": not failed, "failed": failed}


def _tried(do: Doing, scene: Scene, network: str) -> str:
    """Why a thing did not work; empty: it did."""
    try:
        do(scene, scene.networks[network])
    except (Failed, OSError, ValueError, KeyError) as error:
        return f"{error}" if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    return ""
