"""Rehearsals at the same time, each in a process of its own: they share nothing and tell the same as one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from msgspec import Struct

from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Credential
from bowerbird.planning.course import Course
from bowerbird.planning.pools import process_pool
from bowerbird.planning.rehearsal import Scope, rehearse
from bowerbird.simulated.world import WorldSettings


class Part(Struct, frozen=True, kw_only=True):
    """What one rehearsal plays."""

    plan: CrawlPlan
    credentials: tuple[Credential, ...]
    world: WorldSettings
    scope: Scope
    seeds: int


def play(part: Part) -> Course:
    return rehearse(part.plan, part.credentials, part.world, part.scope, part.seeds)


def rehearsals_at_once() -> int:
    """One more than there are processors: they are of different lengths, and none is idle while the last ones end."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@contextmanager
def company(jobs: int) -> Iterator[Callable[[Part], Future[Course]]]:
    """Begins rehearsals, at most so many at once; with one job each is played before the next one is begun."""
    if jobs == 1:
        yield _at_once
        return
    with process_pool(jobs) as pool:
        try:
            yield lambda part: pool.submit(play, part)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _at_once(part: Part) -> Future[Course]:
    played: Future[Course] = Future()
    played.set_result(play(part))
    return played
