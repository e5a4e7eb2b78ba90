"""What the dashboard of a demo shows beside its first crawl: an event and a community, each of a small network of its own.

Both go on for as long as somebody looks: the networks have their real limits, so that they cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.community.countries import description
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.service import Setup, SimulatedService
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.events import planned_event
from bowerbird.simulated.world.settings import PlannedEvent

_HOME = 3
"""The town of simulated worlds whose people are the community."""
_MEMBERS = 30
_FAULTS = Faults(rates={"bad_gateway": 0.004})
"""As servers have them, so that there are errors to look at."""

_COMMUNITY_FILE = """\
# Written by `bowerbird demo --dashboard`. Its service lives only as long as the demo.
flow = "community"
store = "demo.db"
seeds.file = "portugal-members.txt"
community.file = "portugal-community.toml"

[service]
name = "village"
provider = "mastodon"
base = "{base}"

[modules.growth]
every = "30s"

[modules.mentions]
every = "1m"

[modules.place_names]
every = "2m"

[modules.accounts]
every = "10m"
"""
_EVENT_FILE = """\
# Written by `bowerbird demo --dashboard`. Its service lives only as long as the demo.
flow = "event"
store = "demo.db"
seeds.file = "event-keywords.txt"

[service]
name = "square"
provider = "bluesky"
base = "{base}"

[keywords]
methods = ["skwa", "burst"]
frame = "10s"
min_frequency = 2
quiet_frames = 2
"""
_EVENT_SCALE = timedelta(seconds=32)
_EVENT_BEGAN = timedelta(seconds=10)
"""Before the demo."""


_PLACES = ("Portugal", "Spain", "France", "United Kingdom", "Germany", "Italy", "Brazil", "Mexico", "United States", "Japan")
"""Where accounts and posts are said to be, so that there is a map."""


class Other(Struct, frozen=True, kw_only=True):
    """One more crawl of the store, and the network that it collects from."""

    about: str
    setup: Setup
    crawl_file: str
    seeds: Callable[[SimulatedService], Sequence[str]]
    seeds_file: str
    files: Mapping[str, str] = {}
    """What else lies beside the crawl file, by name."""


def community(now: datetime, seed: int) -> Other:
    """The people of Portugal among those of twelve nations; some members are known."""
    world = WorldSettings(
        seed=seed, accounts=3_000, start=now - timedelta(days=3), mixed=True, posts_per_day=6, likes_per_post=0.2, following=20,
        history=timedelta(days=12), longest_history=60, warm=3,
    )  # fmt: skip

    def members(service: SimulatedService) -> list[str]:
        homes = service.world.people.community
        there = [each for each in range(len(service.world)) if homes[each] == _HOME and service.truth.is_available(each, now)]
        return [service.dialect.account_key(each) for each in there[:_MEMBERS]]

    return Other(
        about="a community is collected beside it, with modules",
        setup=Setup(dialect="mastodon", world=world, domain="village.example", faults=_FAULTS), seeds=members,
        crawl_file=_COMMUNITY_FILE + "".join(f'\n[[places]]\nname = "{name}"\nby = "none"\n' for name in _PLACES),
        seeds_file="portugal-members.txt", files={"portugal-community.toml": description("PT")},
    )  # fmt: skip


def event(now: datetime, seed: int) -> Other:
    """A short event of which one hashtag is known, in a small network whose people write several posts per second."""
    planned = PlannedEvent(begins=now - _EVENT_BEGAN, scale=_EVENT_SCALE, posts=2_600)
    world = WorldSettings(
        seed=seed, accounts=2_000, start=now - timedelta(days=2), posts_per_day=300, likes_per_post=0.05, following=15,
        history=timedelta(days=1), longest_history=5, warm=1, planned=planned,
    )  # fmt: skip

    def hashtag(service: SimulatedService) -> list[str]:
        about = planned_event(service.world.settings)
        return [f"#{about.tags[0]}"] if about is not None else []

    return Other(
        about="an event is followed beside it, by keywords that come and go",
        setup=Setup(dialect="bluesky", world=world), crawl_file=_EVENT_FILE, seeds=hashtag, seeds_file="event-keywords.txt",
    )  # fmt: skip


OTHERS: Mapping[str, Callable[[datetime, int], Other]] = {"portugal": community, "event": event}
"""By the name of the crawl."""
