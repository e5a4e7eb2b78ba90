"""The accounts: who they are, how much they write, and what will become of them. Arrays over the account's number."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.nations.people import residence
from bowerbird.simulated.world.nations.tables import SHARES
from bowerbird.simulated.world.people.vocabulary import TOWNS
from bowerbird.simulated.world.settings import DAY, NEVER, USUAL_SPREAD, WorldSettings

Array = npt.NDArray[Any]

_NORMAL = NormalDist()
_EPOCH_MS = 1_167_609_600_000
"""No account is older than 2007."""


class Population(Struct, frozen=True):
    """Everything about the accounts that does not depend on who follows whom. Times in ms; `NEVER` where it does not happen."""

    community: Array
    popularity: Array
    rate: Array
    """Posts per day."""
    like_rate: Array
    shift_ms: Array
    """How far an account's day is from UTC."""
    created: Array
    left: Array
    """When the account was deleted by its owner."""
    suspended: Array
    returned: Array
    protected: Array
    unprotected: Array
    history: Array
    """Posts written before the warm start."""
    history_from: Array
    hides_network: Array
    is_bot: Array
    is_verified: Array
    is_indexable: Array
    is_discoverable: Array
    is_noindex: Array
    says_nobot: Array
    edit_every: Array
    """Mean time between profile edits."""

    def __len__(self) -> int:
        return len(self.community)


def populate(settings: WorldSettings) -> Population:
    """All accounts of a world."""
    n = settings.accounts
    rng = generator(settings.seed, 1)
    towns = min(len(TOWNS), max(1, n // 50))
    shares = np.array(SHARES) if settings.mixed else _shares(towns)
    community = rng.choice(len(shares), n, p=shares).astype(np.int16)
    rate = _rates(settings, rng)
    created = _created(settings, rng)
    left, suspended, returned = _fates(settings, rng, created)
    protected, unprotected = _protection(settings, rng)
    history, history_from = _history(settings, rng, rate, created)
    hours = np.array([town.utc_hours for town in TOWNS])[_residence(settings, community)]
    return Population(
        community=community,
        popularity=_popularity(settings, rng, rate),
        rate=rate,
        like_rate=_like_rates(settings, rng, rate),
        shift_ms=((hours + rng.normal(0, 1.2, n)) * 3_600_000).astype(np.int64),
        created=created,
        left=left,
        suspended=suspended,
        returned=returned,
        protected=protected,
        unprotected=unprotected,
        history=history,
        history_from=history_from,
        hides_network=rng.random(n) < 0.05,
        is_bot=rng.random(n) < 0.03,
        is_verified=rng.random(n) < 0.01,
        is_indexable=rng.random(n) < 0.9,
        is_discoverable=rng.random(n) < 0.7,
        is_noindex=rng.random(n) < 0.03,
        says_nobot=rng.random(n) < 0.01,
        edit_every=(rng.lognormal(np.log(90), 1.0, n) * DAY).astype(np.int64),
    )


def _residence(settings: WorldSettings, community: Array) -> Array:
    """The town that each account lives by."""
    if not settings.mixed:
        return community
    return np.array([residence(settings.seed, account, int(home)) for account, home in enumerate(community)])


def _shares(towns: int) -> Array:
    weights = 1.0 / np.arange(1, towns + 1) ** 0.7
    shares: Array = weights / weights.sum()
    return shares


def _popularity(settings: WorldSettings, rng: np.random.Generator, rate: Array) -> Array:
    popularity = (rng.pareto(1.4, len(rate)) + 0.05) * (1 + rate) ** 0.4
    capped: Array = np.minimum(popularity, 0.004 * popularity.sum())
    if settings.celebrity:
        capped[0] = capped[1:].sum() * settings.celebrity / (1 - settings.celebrity)
    return capped


def _rates(settings: WorldSettings, rng: np.random.Generator) -> Array:
    n = settings.accounts
    drawn, writers = rng.standard_normal(n), np.ones(n, bool)
    writers[rng.permutation(n)[: round(n * settings.silent)]] = False
    if settings.spread is None:
        rate = np.where(writers, np.exp(USUAL_SPREAD * drawn), 0.0)
    else:
        rate = np.zeros(n)
        rate[writers] = np.exp(settings.spread * _evenly(drawn[writers]))
    # No more than a post every six minutes by day: above it is no longer an account but a broken loop.
    capped: Array = np.minimum(rate * settings.posts_per_day * n / rate.sum(), 240.0)
    return capped


def _evenly(drawn: Array) -> Array:
    """As many values of the normal distribution at even distances, in the order of those drawn: small worlds are as skewed as
    large ones."""
    place = np.empty(len(drawn))
    place[np.argsort(drawn)] = (np.arange(len(drawn)) + 0.5) / max(1, len(drawn))
    return np.array([_NORMAL.inv_cdf(float(each)) for each in place])


def _like_rates(settings: WorldSettings, rng: np.random.Generator, rate: Array) -> Array:
    lurks = (rate == 0) & (rng.random(len(rate)) < 0.3)
    return np.where(lurks, 0.2, rate * settings.likes_per_post)


def _created(settings: WorldSettings, rng: np.random.Generator) -> Array:
    n = settings.accounts
    created = settings.warm_ms - (rng.beta(1.2, 2.0, n) * (settings.warm_ms - _EPOCH_MS)).astype(np.int64) - DAY
    joins_later = rng.random(n) < 0.02
    horizon = settings.horizon.days * DAY
    created[joins_later] = settings.start_ms + (rng.random(joins_later.sum()) * horizon).astype(np.int64)
    # The two bits of the account's number that a Mastodon id keeps inside the time.
    return created // 4 * 4 + (np.arange(n) >> 16)


def _fates(settings: WorldSettings, rng: np.random.Generator, created: Array) -> tuple[Array, Array, Array]:
    n = settings.accounts
    horizon = settings.horizon.days * DAY
    left = np.where(rng.random(n) < 0.03, settings.start_ms + (rng.random(n) * horizon).astype(np.int64), NEVER)
    left = np.where(rng.random(n) < 0.01, settings.warm_ms - (rng.random(n) * 300 * DAY).astype(np.int64), left)
    suspended = np.where(rng.random(n) < 0.02, settings.start_ms + (rng.random(n) * horizon).astype(np.int64), NEVER)
    suspended = np.where(rng.random(n) < 0.01, settings.warm_ms - (rng.random(n) * 300 * DAY).astype(np.int64), suspended)
    comes_back = (suspended != NEVER) & (rng.random(n) < 0.5)
    returned = np.where(comes_back, suspended + (rng.exponential(12 * DAY, n)).astype(np.int64), NEVER)
    return np.maximum(left, created + DAY), np.maximum(suspended, created + DAY), np.maximum(returned, suspended)


def _protection(settings: WorldSettings, rng: np.random.Generator) -> tuple[Array, Array]:
    n = settings.accounts
    horizon = settings.horizon.days * DAY
    when = settings.start_ms + (rng.random(n) * horizon).astype(np.int64)
    draw = rng.random(n)
    protected = np.where(draw < 0.05, 0, np.where(draw < 0.06, when, NEVER))
    until = np.where((draw < 0.06) & (rng.random(n) < 0.4), when + (rng.exponential(20 * DAY, n)).astype(np.int64), NEVER)
    return protected, until


def _history(settings: WorldSettings, rng: np.random.Generator, rate: Array, created: Array) -> tuple[Array, Array]:
    n = settings.accounts
    age = np.maximum(settings.warm_ms - created, 0)
    span = np.minimum(rng.lognormal(np.log(settings.history.total_seconds() * 1000), 1.1, n), age)
    # Some silent accounts fell silent: they have old posts and write no more.
    old_rate = np.where((rate == 0) & (rng.random(n) < 0.4), rng.lognormal(-0.5, 1.0, n), rate)
    count = np.minimum(rng.poisson(np.minimum(old_rate * span / DAY, 1e6)), settings.longest_history)
    return count.astype(np.int32), (settings.warm_ms - span).astype(np.int64)
