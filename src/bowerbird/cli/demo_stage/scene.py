"""Sets up the demo: a small world served over HTTP with its real limits in shorter windows, and a crawl file for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct, structs

from bowerbird.app import vocabulary
from bowerbird.errors import UserError
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.model import ShownState
from bowerbird.ports import Clock
from bowerbird.providers import provider
from bowerbird.providers.limit_overrides import Overrides, limit_name
from bowerbird.reports.status.glimpse import Glimpse
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.hashing import generator

SERVICE = "demo"
WINDOWS = 1 / 60
"""Windows of five minutes last five seconds, those of a quarter of an hour fifteen."""
_WORLD_ACCOUNTS = 2_000
_SEEDS = 480
_BY_HANDLE = 6
_TOKENS = 2
_AGE = timedelta(days=20)
_SETTLED = timedelta(seconds=4)
CAUGHT_UP = "everything its seeds have written is collected"

_CRAWL_FILE = """\
# Written by `bowerbird demo`. Its service lived only as long as the demo: this file is here to be read.
{more}\
store = "demo.db"

[seeds]
file = "seeds.txt"

[service]
name = "{service}"
provider = "{dialect}"
base = "{base}"
"""
_FLOW = 'flow = "timelines"\n'
_STOP = 'stop.duration = "{seconds:g}s"\n'
_GOES_ON = 'flow.use = "timelines"\nflow.facets.profiles.revisit = "1m"\n'
"""For whoever looks on: in five minutes, which is usual, nothing would be seen to happen."""


class Scene(Struct, frozen=True, kw_only=True):
    """The demo's service and crawl."""

    service: SimulatedService
    seeds: Sequence[int]
    """Accounts of the world, in its own numbers."""
    plan: CrawlPlan
    vault: TokenVault
    folder: Path
    started_at: datetime

    def is_caught_up(self, glimpse: Glimpse) -> str:
        """A reason to end as soon as nothing waits any more."""
        is_begun = glimpse.elapsed > _SETTLED and glimpse.run.calls > 0
        is_over = is_begun and glimpse.waiting == 0 and glimpse.state is ShownState.RUNNING
        return CAUGHT_UP if is_over else ""


def lasting(time: timedelta | None, *, is_shown: bool) -> str:
    """What the crawl file says of its flow, and of how long it lasts."""
    end = _STOP.format(seconds=time.total_seconds()) if time is not None else ""
    return (_GOES_ON if is_shown else _FLOW) + end


@asynccontextmanager
async def opened_scene(dialect: str, seed: int, more: str, folder: Path, clock: Clock) -> AsyncIterator[Scene]:
    """Builds the world, serves it, and writes the crawl file, with `more` in it (`lasting`); the service ends with the block, the
    folder stays."""
    now = clock.now()
    settings = WorldSettings(
        seed=seed, accounts=_WORLD_ACCOUNTS, start=now - _AGE, history=timedelta(days=30), longest_history=600
    )
    service = simulate(Setup(dialect=dialect, world=settings, scale=Scale(windows=WINDOWS), tokens=_TOKENS))
    seeds = service.truth.sample_accounts(_SEEDS, generator(seed, 7), now)
    async with serve(service, clock) as base:
        _prepare(
            folder, _seed_lines(service, seeds, now), _CRAWL_FILE.format(dialect=dialect, base=base, more=more, service=SERVICE)
        )
        file = folder / "demo.toml"
        plan = parse_crawl(file.read_text("utf-8"), file, vocabulary())
        yield Scene(
            service=service,
            seeds=seeds,
            plan=_with_short_windows(plan),
            vault=TokenVault(dialect, list(service.tokens), name="crawler-", base=base),
            folder=folder,
            started_at=now,
        )


def _seed_lines(service: SimulatedService, seeds: Sequence[int], now: datetime) -> list[str]:
    """Most seeds are ids; some are handles, which a crawl looks up first."""
    dialect = service.dialect
    handles = [f"@{dialect.handle_of(account, now).removeprefix('@')}" for account in seeds[:_BY_HANDLE]]
    return handles + [dialect.account_key(account) for account in seeds[_BY_HANDLE:]]


def _prepare(folder: Path, seeds: list[str], crawl_file: str) -> None:
    """Clears what the last demo left and writes this one's files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("demo.db", "demo.db-wal", "demo.db-shm", "vault", "vault.key"):
            (folder / name).unlink(missing_ok=True)
        (folder / "seeds.txt").write_text("\n".join(seeds) + "\n", "utf-8")
        (folder / "demo.toml").write_text(crawl_file, "utf-8")
    except OSError as error:
        raise UserError(
            f"the demo cannot write to {folder}: {error.strerror}",
            "set BOWERBIRD_DATA_FOLDER to another place",
            code="file_unwritable",
        ) from None


def _with_short_windows(plan: CrawlPlan) -> CrawlPlan:
    """The plan told how long this server's windows are; servers differ, and a crawl file may say so."""
    planned = plan.services[0]
    tables = provider(planned.service.provider).tables
    limits = {limit for table in tables.values() for facet in table.values() for limit in facet.limits}
    short: Overrides = {"*": {limit_name(limit): {"window": _short(limit.window)} for limit in limits}}
    return structs.replace(plan, services=(structs.replace(planned, limits=short),))


def _short(window: timedelta) -> timedelta:
    return timedelta(seconds=max(1, round(window.total_seconds() * WINDOWS)))
