"""Every built-in flow against every flavour of every dialect: the worlds, the crawls and what they begin with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.flows.built_in import builtin_flows
from bowerbird.simulated.mastodon import MastodonDialect
from bowerbird.simulated.service import FLAVOURS, SimulatedService
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.reactions import Reactions
from bowerbird.simulated.world.posts.rows import REPOST, Row
from bowerbird.simulated.world.posts.tags import NO_TAG, tag_name
from bowerbird.simulated.world.settings import to_ms

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
HERE, ELSEWHERE = "one.example", "two.example"
_SEEDS, _FEW = 14, 4
_RECENT = timedelta(days=20)
_AN_HOUR = 3_600_000
_LIVELY = {"event": 40.0, "listen": 160.0, "topic": 40.0}
"""Flows that wait for what is new, and how much people write in their world: there time goes on."""


_CHANNELS = {"bluesky": "jetstream", "mastodon": "public", "twitter_v1": "sample", "x": "sample"}
"""Streams of everything."""
_PLACE = '[[places]]\nname = "spot"\nbox = [-0.34, 51.3, 0.08, 51.71]\nby = "none"\n'
_QUEUES = ("following", "followers", "profile", "timeline", "thread", "tags")
_ROUND = "\n".join(f"flow.facets.{name}.revisit = '1d'" for name in _QUEUES)
_CALLS = {"robots": 250, "sample": 120}
"""Of flows that go on for ever."""
_COMMUNITY = """[community]
places.countries = ["GB"]
time.zones = ["Europe/London"]
names.countries = ["GB"]
"""
_FLOWS: dict[str, tuple[str, tuple[str, ...], timedelta]] = {
    "timelines": ("", ("profile", "timeline"), timedelta(minutes=50)),
    "graph": ("filters.max_depth = 1", ("profile", "followers", "following"), timedelta(hours=12)),
    "cascades": ("", ("post", "reposts", "quotes"), timedelta(hours=12)),
    "community": ("", ("profile",), timedelta(minutes=70)),
    "event": ("", (), timedelta(minutes=70)),
    "hydrate": ("", ("post",), timedelta(hours=12)),
    "listen": ("", (), timedelta(minutes=60)),
    "places": ("filters.max_depth = 0", ("profile",), timedelta(hours=12)),
    "robots": (_ROUND, ("profile", "timeline", "followers", "following"), timedelta(hours=20)),
    "sample": ("", ("following",), timedelta(hours=6)),
    "topic": ("", ("hashtag",), timedelta(minutes=70)),
}
"""By flow: more lines of the crawl file, what the server must be asked about every seed if it offers it, and for how long."""


class Scene(Struct, frozen=True, kw_only=True):
    """One crawl: a built-in flow on a server of one flavour."""

    dialect: str
    flavour: str
    flow: str
    is_small: bool = False
    """A smaller world: the same questions in a fraction of the time."""
    channel: str = ""
    """The stream that is listened to, where it is not the one of everything."""

    @property
    def name(self) -> str:
        return f"{self.flow}{f' ({self.channel})' if self.channel else ''} on {self.flavour}"

    @property
    def is_moving(self) -> bool:
        return self.flow in _LIVELY

    def world(self) -> WorldSettings:
        """Small, and still unless the flow waits for news; some show nearly everything to their followers alone."""
        return WorldSettings(
            seed=3,
            accounts=24 if self.is_small else 40,
            following=5.0,
            posts_per_day=_LIVELY.get(self.flow, 3.0),
            history=timedelta(days=20),
            longest_history=100 if self.is_small else 140,
            warm=4,
            reticent=0.3,
            until=None if self.is_moving else START,
        )


class Order(Struct, frozen=True, kw_only=True):
    """What the crawl file says of the flow, with what it begins and how long it runs."""

    lines: str
    seeds: tuple[str, ...] = ()
    tables: str = ""
    length: timedelta
    tag: str = ""
    """The hashtag that is listened to."""
    promises: tuple[str, ...] = ()
    """Facets by which the server must be asked about every seed, if it offers them, whatever becomes of the rest."""


def all_scenes(only: Sequence[str] = (), flows: Sequence[str] = (), *, is_small: bool = False) -> list[Scene]:
    """The whole matrix, or the part of it with these flavours and flows."""
    names, builtin = [name for names in FLAVOURS.values() for name in names], sorted(builtin_flows())
    for wanted, known, what in ((only, names, "flavour"), (flows, builtin, "built-in flow")):
        if unknown := [name for name in wanted if name not in known]:
            raise UserError(f"there is no {what} {unknown[0]!r}", f"there are {', '.join(known)}", code="unknown_name")
    return [
        Scene(dialect=dialect, flavour=flavour, flow=flow, is_small=is_small, channel=channel)
        for dialect, flavours in FLAVOURS.items()
        for flavour in flavours
        for flow in builtin
        for channel in (("", "hashtag") if (dialect, flow) == ("mastodon", "listen") else ("",))
        if (not only or flavour in only) and (not flows or flow in flows)
    ]


def order(scene: Scene, service: SimulatedService) -> Order:
    """The crawl of one scene; its seeds are chosen from the truth, those not to be had among them."""
    lines, promises, length = _FLOWS[scene.flow]
    tables = {"places": _PLACE, "community": _COMMUNITY}.get(scene.flow, "")
    if scene.flow == "listen":
        channel = scene.channel or _CHANNELS.get(service.dialect.name, "public")
        about = f'tag = ["{tag_of(service)}"]\n' if channel == "hashtag" else ""
        tables = f'[[streams]]\nchannel = "{channel}"\n{about}'
    seeds, tag = _seeds(scene.flow, service), tag_of(service) if scene.channel == "hashtag" else ""
    calls = f"stop.calls = {_CALLS[scene.flow]}\n" if scene.flow in _CALLS else ""
    length = length / 3 if scene.is_small and scene.flow in ("community", "event", "timelines", "topic") else length
    return Order(
        lines=f'flow.use = "{scene.flow}"\n{calls}{lines}', seeds=seeds, tables=tables, tag=tag, promises=promises, length=length
    )


def _seeds(flow: str, service: SimulatedService) -> tuple[str, ...]:
    if flow in ("cascades", "hydrate"):
        return _posts(service, passed_on=flow == "cascades")
    counts = {"timelines": _SEEDS, "community": _SEEDS, "places": _SEEDS, "graph": _FEW, "sample": _FEW, "robots": 1}
    if flow in counts:
        return _accounts(service, counts[flow])
    return (f"#{tag_of(service)}",) if flow in ("event", "topic") else ()


def _accounts(service: SimulatedService, count: int) -> tuple[str, ...]:
    """People of the server, every second by handle: writers first, then some who are hidden or gone."""
    world, now = service.world, to_ms(START)
    living = [each for each in range(len(world)) if _is_here(service, each) and world.exists(each, now)]
    writing = sorted(living, key=lambda each: -sum(1 for _ in world.timeline(each, now)))
    shy = [each for each in living if not world.is_open(each, now)][: max(0, count - 2) // 3]
    chosen = [*[each for each in writing if each not in shy][: count - len(shy)], *shy]
    return tuple(_named(service, account, place) for place, account in enumerate(chosen))


def _named(service: SimulatedService, account: int, place: int) -> str:
    if place % 2 and service.dialect.name != "weibo":
        return f"@{service.dialect.handle_of(account, START)}"
    return service.dialect.account_key(account)


def _is_here(service: SimulatedService, account: int) -> bool:
    dialect = service.dialect
    return not isinstance(dialect, MastodonDialect) or dialect.vantage.is_local(account)


def _posts(service: SimulatedService, *, passed_on: bool) -> tuple[str, ...]:
    """Posts of the server's own people: those passed on most, or the newest, with some that are gone or not for everybody."""
    world, now, since = service.world, to_ms(START), to_ms(START - _RECENT)
    authors = [each for each in range(len(world)) if _is_here(service, each) and world.is_open(each, now)]
    rows = [row for each in authors for row in world.all_rows(each, since, now) if row.kind != REPOST]
    if passed_on:
        counters = Reactions(world).counters([row.number for row in rows], now)
        ranked = sorted(zip(counters, rows, strict=True), key=lambda pair: (-pair[0].reposts, pair[1].number))
        chosen = [row for count, row in ranked if row.gone_at > now and _is_public(service, row)][:_SEEDS]
    else:
        chosen = _spread(rows, 45)
    return tuple(service.dialect.post_key(row.number) for row in chosen)


def _is_public(service: SimulatedService, row: Row) -> bool:
    return service.world.contents.visibility(row.number) == "public"


def _spread(rows: Sequence[Row], count: int) -> list[Row]:
    ordered = sorted(rows, key=lambda row: row.number)
    return ordered[:: max(1, len(ordered) // count)][:count]


def tag_of(service: SimulatedService) -> str:
    """The hashtag under which most is written for everybody while the crawl runs."""
    world, begin = service.world, to_ms(START)
    rows = [row for account in range(len(world)) for row in world.all_rows(account, begin, begin + _AN_HOUR)]
    shown = [row.tag for row in rows if row.tag != NO_TAG and row.kind != REPOST and _is_public(service, row)]
    return tag_name(max(sorted(set(shown)), key=shown.count))


def make_world(scene: Scene) -> World:
    return World(scene.world())
