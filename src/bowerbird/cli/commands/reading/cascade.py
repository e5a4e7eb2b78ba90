"""`bowerbird cascade`: how posts were passed on, by whom, and through whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from bowerbird.analysis.cascades import Cascade, Step, rebuild
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.networks.graphs import Arc, Node, check_name, write_graph
from bowerbird.model import Passed, PostKind
from bowerbird.ports import Database
from bowerbird.providers import PROVIDERS, provider
from bowerbird.reports.studies.cascades import CascadeReader

WhatArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[POST…] [FILE|DATABASE]",
        help="Posts by id or address, and the crawl file or database they are in; without posts: every cascade there is.",
    ),
]
LeastOption = Annotated[int, typer.Option("--least", min=0, help="Leave out posts that were passed on less often.")]
TopOption = Annotated[int, typer.Option("--top", min=1, help="How many to show, the largest first.")]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="Write the graph to a new .gexf, .graphml or .jsonl file.")]


_SHOWN_STEPS = 200


class Told(NamedTuple):
    """One cascade with the names of its people and posts."""

    passed: Passed
    tree: Cascade


def command(
    what: WhatArgument = None, least: LeastOption = 1, top: TopOption = 20, out: OutOption = None, as_json: JsonFlag = False
) -> None:
    """Say who passed posts on to whom: reposts, quotes, and those of the quotes, as trees. Changes nothing.

    A repost is attributed to the latest earlier one by somebody the user follows, or to the author. Where nobody's follows are
    known (switch `following` on in the flow `cascades`) it says so.
    """
    output = Output(as_json=as_json)
    posts, written = _sorted(what or [])
    if out is not None:
        check_name(out)
    found = find_store(written)

    async def read() -> list[Told]:
        async with read_store(found, RealClock()) as database:
            return [told async for told in _read(database, posts) if posts or told.tree.size >= least]

    cascades = asyncio.run(read())
    shown = nlargest(top, cascades, key=lambda told: told.tree.size)
    _show(output, shown, len(cascades), with_steps=bool(posts))
    if out is not None:
        write_graph(out, *graph(cascades))
        output.line(f"The graph is in {out}.")
    chosen = cascades if posts else shown
    values = [summary(told) | ({"steps": steps(told)} if posts else {}) for told in chosen]
    output.result({"store": found.shown, "out": out, "found": len(cascades), "cascades": values})


def _sorted(what: Sequence[str]) -> tuple[list[str], str | None]:
    """Posts, and where they are to be looked for."""
    places = [text for text in what if _is_place(text)]
    if len(places) > 1:
        raise UserError(f"one crawl file or database at a time, not {' and '.join(places)}")
    return [text for text in what if text not in places], places[0] if places else None


def _is_place(text: str) -> bool:
    return text.startswith(("postgresql://", "postgres://")) or text.endswith((".toml", ".db")) or Path(text).is_file()


async def _read(database: Database, posts: Sequence[str]) -> AsyncIterator[Told]:
    reader = CascadeReader(database)
    for text in posts:
        numbers = await reader.find(names(text))
        if not numbers:
            raise UserError(
                f"the post {text} is not stored; seeds of the flow `cascades` are, once it has run", code="unknown_post"
            )
        for number in numbers:
            passed = await reader.read(number)
            yield Told(passed, rebuild(passed))
    if not posts:
        async for number in reader.roots():
            passed = await reader.read(number)
            yield Told(passed, rebuild(passed))


def names(text: str) -> set[str]:
    """Every id and key that may be meant by what a person wrote."""
    found = {text}
    for name in PROVIDERS:
        speaks = provider(name)
        try:
            key = speaks.target(text, speaks.facets["posts"])
        except UserError:
            continue
        found |= {key, f"{speaks.network}:{key}"}
    return found


def summary(told: Told) -> dict[str, Any]:
    passed, tree = told
    times = [step.at for step in tree.steps if step.at is not None]
    return {
        "post": passed.posts[passed.post],
        "author": passed.users[passed.author][0],
        "handle": passed.users[passed.author][1],
        "at": passed.at,
        "last_at": max(times, default=None),
        "size": tree.size,
        "reposts": tree.kinds[PostKind.REPOST],
        "quotes": tree.kinds[PostKind.QUOTE],
        "people": tree.people,
        "depth": tree.depth,
        "virality": round(tree.virality, 4),
        "how": {str(how): count for how, count in sorted(tree.ways.items())},
    }


def steps(told: Told) -> list[dict[str, Any]]:
    """Who passed it on to whom, in the order in which it happened."""
    passed, tree = told
    return [
        {
            "from": passed.users[tree.steps[step.parent].user][0],
            "to": passed.users[step.user][0],
            "handle": passed.users[step.user][1],
            "kind": str(step.kind),
            "how": str(step.how),
            "at": step.at,
            "depth": step.depth,
            "of": passed.posts.get(step.of or 0),
            "post": passed.posts.get(step.as_post or 0),
        }
        for step in tree.steps[1:]
    ]


def graph(cascades: Sequence[Told]) -> tuple[list[Node], list[Arc]]:
    """Users and posts as nodes; who passed on to whom, who wrote what and what quotes what as edges."""
    nodes: dict[str, Node] = {}
    arcs: list[Arc] = []
    for passed, tree in cascades:
        for known, handle in passed.users.values():
            nodes[known] = Node(known, handle or known, {"type": "user"})
        for known in passed.posts.values():
            nodes[known] = Node(known, known, {"type": "post"})
        arcs += [arc for step in tree.steps for arc in _arcs(passed, tree, step)]
    return list(nodes.values()), arcs


def _arcs(passed: Passed, tree: Cascade, step: Step) -> list[Arc]:
    user, own = passed.users[step.user][0], passed.posts.get(step.as_post or 0)
    found: list[Arc] = []
    if step.how is not None:
        values: dict[str, Any] = {
            "kind": str(step.kind),
            "how": str(step.how),
            "depth": step.depth,
            "of": passed.posts.get(step.of or 0),
        }
        at = step.at.isoformat() if step.at is not None else None
        found.append(Arc(passed.users[tree.steps[step.parent].user][0], user, values | {"at": at}))
    if own is not None:
        found.append(Arc(user, own, {"kind": "wrote"}))
        if step.of is not None:
            found.append(Arc(own, passed.posts[step.of], {"kind": "quotes"}))
    return found


def _show(output: Output, shown: Sequence[Told], found: int, *, with_steps: bool) -> None:
    if not shown:
        output.line("No post of this store is known to have been passed on.")
        return
    columns = ("passed on", "reposts", "quotes", "people", "depth", "virality", "source known", "by", "post")
    output.table("", columns, [_row(told) for told in shown])
    if len(shown) < found:
        output.line(f"… and {found - len(shown):,} more; --top shows more of them, --out writes all.")
    for told in shown if with_steps else ():
        output.line()
        title = f"How {told.passed.posts[told.passed.post]} was passed on"
        output.table(title, ("when", "kind", "how", "depth", "from", "to"), _step_rows(told))
        if told.tree.size > _SHOWN_STEPS:
            output.line(f"… and {told.tree.size - _SHOWN_STEPS:,} more steps; --json and --out have all.")


def _row(told: Told) -> tuple[object, ...]:
    values = summary(told)
    known = values["size"] - values["how"].get("unknown", 0)
    counts = (values["size"], values["reposts"], values["quotes"], values["people"], values["depth"])
    return (
        *counts,
        f"{values['virality']:.2f}",
        f"{known} of {values['size']}",
        _named(told, told.passed.author),
        values["post"],
    )


def _step_rows(told: Told) -> list[tuple[object, ...]]:
    tree = told.tree
    return [
        (
            f"{step.at:%Y-%m-%d %H:%M:%S}" if step.at else "",
            *(step.kind, step.how, step.depth),
            *(_named(told, tree.steps[step.parent].user), _named(told, step.user)),
        )
        for step in tree.steps[1 : _SHOWN_STEPS + 1]
    ]


def _named(told: Told, user: int) -> str:
    known, handle = told.passed.users[user]
    return f"@{handle}" if handle else known
