"""`bowerbird simulate`: a synthetic microblog over HTTP, with the limits, errors and (if wanted) faults of the real ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct, structs

from bowerbird.cli.keys.vaults import names_taken
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.clock import RealClock
from bowerbird.crawl.access.how_to_add import add_line, best_kinds, free_name
from bowerbird.errors import UserError
from bowerbird.model.networks import FIRST
from bowerbird.providers import provider
from bowerbird.simulated.faults import KINDS, MESSAGE_KINDS, Faults
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import DIALECTS, FLAVOURS, Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.posts.events import planned_event
from bowerbird.simulated.world.settings import PlannedEvent, from_ms

_EVENT_SCALE, _EVENT_POSTS = timedelta(seconds=40), 1_800
_LIVELY = 600_000
"""Posts per day in a world with a short event."""
_RECENT = timedelta(hours=6)
_FLAVOURS = [name for names in FLAVOURS.values() for name in names]


class CurrentEvent(Struct, frozen=True):
    """An event to follow."""

    begins: datetime
    hashtags: tuple[str, ...]
    posts: int
    """Of the last six hours."""


def command(
    dialect: Annotated[str, typer.Option(help=f"Which API to speak: {' or '.join(DIALECTS)}.")] = FIRST,
    flavour: Annotated[
        str, typer.Option(help=f"Which server of that API to be: {', '.join(_FLAVOURS)}.", show_default="the newest")
    ] = "",
    accounts: Annotated[int, typer.Option(help="How many accounts the world has.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The same seed on the same day makes the same world.")] = 1,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 0,
    limit_scale: Annotated[float, typer.Option("--limit-scale", help="Factor on every allowance; 1 is the real one.")] = 1.0,
    window_scale: Annotated[float, typer.Option("--window-scale", help="Factor on every window; 0.01 makes 15 min 9 s.")] = 1.0,
    tokens: Annotated[int, typer.Option(help="How many user tokens to give out.")] = 1,
    fault: Annotated[
        list[str] | None, typer.Option(help=f"NAME=RATE, repeatable. Names: {', '.join([*KINDS, *MESSAGE_KINDS])}.")
    ] = None,
    pace: Annotated[float, typer.Option(help="How many times as fast as the clock the world's time runs; limits do not.")] = 1.0,
    event: Annotated[
        int | None,
        typer.Option(min=0, help="Seconds until a short event begins: three minutes of it, among several posts per second."),
    ] = None,
    skew: Annotated[float, typer.Option(help="Seconds by which the service's clock is ahead.")] = 0.0,
    as_json: JsonFlag = False,
) -> None:
    """Serve a simulated microblog over HTTP."""
    clock, rates = RealClock(), _rates(fault or [])
    messages = {name: rates.pop(name) for name in MESSAGE_KINDS if name in rates}
    world = WorldSettings(seed=seed, accounts=accounts, start=clock.now(), pace=pace, since=clock.now())
    setup = Setup(
        dialect=dialect,
        flavour=flavour,
        world=world_with_event(world, clock.now() + timedelta(seconds=event)) if event is not None else world,
        scale=Scale(limit_scale, window_scale),
        faults=Faults(seed=seed, rates=rates, messages=messages, skew=timedelta(seconds=skew)),
        tokens=tokens,
        app_tokens=1,
    )
    output = Output(as_json=as_json)
    output.progress(f"Making a world of {accounts:,} accounts …")
    service = simulate(setup)
    service.world.post_count(0, int(clock.now().timestamp() * 1000))
    # An interrupt is the way to end: not an error.
    try:
        asyncio.run(_serve(service, flavour or dialect, clock, output, (host, port)))
    except KeyboardInterrupt:
        output.progress(f"Ended after {service.calls:,} calls, {service.limiter.refused:,} refused.")


async def _serve(service: SimulatedService, flavour: str, clock: RealClock, output: Output, where: tuple[str, int]) -> None:
    async with serve(service, clock, *where) as base:
        told = introduction(service, flavour, base, clock)
        for line in told.pop("lines"):
            output.line(line)
        output.result(told)
        await asyncio.Event().wait()


def _rates(faults: list[str]) -> dict[str, float]:
    rates = {}
    for text in faults:
        name, _, rate = text.partition("=")
        try:
            rates[name] = float(rate)
        except ValueError:
            raise UserError(f"--fault {text!r} is not NAME=RATE, such as bad_gateway=0.01.") from None
    return rates


def world_with_event(world: WorldSettings, begins: datetime) -> WorldSettings:
    """Return a world in which about seven posts per second are written, and a short event begins at a time."""
    planned = PlannedEvent(begins=begins, scale=_EVENT_SCALE, posts=_EVENT_POSTS)
    return structs.replace(world, posts_per_day=_LIVELY / world.accounts, likes_per_post=0.05, warm=1, planned=planned)


def current_event(service: SimulatedService, now: datetime) -> CurrentEvent | None:
    """Return the planned event, or else that with most posts in the last six hours."""
    now = service.world.settings.moment(now)
    posts = service.truth.event_posts(now - _RECENT, now)
    planned = planned_event(service.world.settings)
    events = [planned] if planned is not None else service.truth.events(now - _RECENT, now)
    found = [CurrentEvent(from_ms(each.begins_ms), each.tags, len(posts.get(each.number, ()))) for each in events]
    return max(found, key=lambda each: each.posts, default=None)


def introduction(service: SimulatedService, flavour: str, base: str, clock: RealClock) -> dict[str, Any]:
    """What a user needs to start: address, tokens, a call to try, a piece of a crawl file."""
    now = clock.now()
    writers = writers_to_try(service, now)
    dialect = service.dialect
    handles = [dialect.handle_of(account, now) for account in writers]
    tokens = [_token(service, number) for number in range(len(service.tokens))]
    bearer = next(token["value"] for token in reversed(tokens) if token["kind"] == "app" or dialect.name == "mastodon")
    path = {
        "bluesky": f"/xrpc/app.bsky.feed.getAuthorFeed?actor={dialect.account_key(writers[0])}&limit=2",
        "mastodon": f"/api/v1/accounts/{dialect.account_key(writers[0])}/statuses?limit=2",
        "twitter_v1": f"/1.1/statuses/user_timeline.json?user_id={dialect.account_key(writers[0])}&count=2",
        "weibo": f"/2/statuses/user_timeline.json?uid={dialect.account_key(writers[0])}&count=2",
        "x": f"/2/users/{dialect.account_key(writers[0])}/tweets?max_results=5",
    }[dialect.name]
    scheme = "OAuth2" if dialect.name == "weibo" else "Bearer"
    about = current_event(service, now)
    lines = [
        f"Serving {_named(dialect.name, flavour)} at {base} (end with Ctrl-C)",
        *(f"  {token['kind']} token {token['value']}{_more(token)}" for token in tokens),
        "Try:",
        f"  curl -i -H 'Authorization: {scheme} {bearer}' '{base}{path}'",
        f"  curl '{base}/_simulated/truth/{dialect.account_key(writers[0])}'",
        "In the vault, which asks for the token:",
        *(f"  {line}" for line in _keys(dialect.name, base, dict.fromkeys(token["kind"] for token in tokens))),
        "In a crawl file:",
        *(f"  {line}" for line in _snippet(dialect.name, base, "timelines", [f"@{handle}" for handle in handles])),
    ]
    if about is not None:
        lines += [
            f"Event: began {about.begins:%d %B %H:%M:%S} UTC, {about.posts:,} posts in the last six hours."
            if about.begins <= now
            else f"Event: begins {about.begins:%H:%M:%S} UTC.",
            f"  hashtags {', '.join(f'#{tag}' for tag in about.hashtags)}",
            f"  curl '{base}/_simulated/events'",
            "In a crawl file that follows it:",
            *(f"  {line}" for line in _snippet(dialect.name, base, "event", [f"#{about.hashtags[0]}"])),
        ]
        if service.world.settings.planned is not None:
            lines += ["  [keywords]", '  frame = "10s"', "  min_frequency = 2"]
    return {
        "base": base,
        "dialect": dialect.name,
        "flavour": flavour,
        "tokens": tokens,
        "handles": handles,
        "event": msgspec.to_builtins(about),
        "lines": lines,
    }


def _keys(dialect: str, base: str, kinds: Iterable[str]) -> list[str]:
    """A command for each kind of token that the network knows, each under a name that is free."""
    known, taken, lines = provider(dialect).tables, set(names_taken() or ()), []
    for kind in sorted(set(kinds) & known.keys(), key=best_kinds(known, dialect, provider(dialect).facets).index):
        name = free_name(taken)
        taken.add(name)
        lines.append(add_line(dialect, kind, base, name))
    return lines


def _named(dialect: str, flavour: str) -> str:
    """`mastodon`, or `gotosocial (provider mastodon)`."""
    return f"{flavour} (provider {dialect})" if flavour and flavour != dialect else dialect


def writers_to_try(service: SimulatedService, now: datetime) -> list[int]:
    """Three accounts to begin with; whoever would not be collected comes last."""
    rng = generator(service.world.settings.seed, 98)
    drawn = service.truth.sample_accounts(len(service.world), rng, now, writers=True)
    return sorted(drawn, key=lambda account: not service.truth.is_collectable(account, now))[:3]


def _token(service: SimulatedService, number: int) -> dict[str, str]:
    token = list(service.tokens)[number]
    described = {"kind": token.kind, "value": token.value, "account": token.account, "app": token.app}
    if service.dialect.name == "bluesky" and token.kind == "user":
        described |= {"app_password": token.secret}
    if service.dialect.name in ("twitter_v1", "x") and token.kind == "user":
        described |= {"secret": token.secret, "consumer_key": token.consumer_key, "consumer_secret": token.consumer_secret}
    return described


def _more(token: dict[str, str]) -> str:
    if "app_password" in token:
        return f" identifier {token['account']} app password {token['app_password']}"
    if "consumer_key" not in token:
        return ""
    return f" secret {token['secret']} consumer {token['consumer_key']} {token['consumer_secret']}"


def _snippet(dialect: str, base: str, flow: str, seeds: list[str]) -> list[str]:
    return [
        f'flow = "{flow}"',
        f"seeds = {json.dumps(seeds, ensure_ascii=False)}",
        "[service]",
        f'provider = "{dialect}"',
        f'base = "{base}"',
    ]
