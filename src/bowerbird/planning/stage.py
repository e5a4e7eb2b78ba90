"""The stage of a rehearsal: one world, a simulated service for each of the crawl's, and seeds that stand for the user's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from urllib.parse import urlsplit

import numpy as np
from msgspec import structs

from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.model import Answer, Credential, Request, Service, Signal, Subject, Wire
from bowerbird.planning.scaling import Model
from bowerbird.ports import Clock, Connection
from bowerbird.providers import provider
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.transport import InProcessTransport, Network
from bowerbird.simulated.tokens import secret_values
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.hashing import generator, mix
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.people.vocabulary import TOWNS, VOCABULARY
from bowerbird.simulated.world.posts.events import planned_event
from bowerbird.simulated.world.posts.reactions import Reactions
from bowerbird.simulated.world.posts.rows import REPOST, Row
from bowerbird.simulated.world.posts.tags import TAGS_PER_TOWN, tag_name
from bowerbird.simulated.world.settings import to_ms

_UNLIMITED = Scale(limits=1e6)
"""The crawl's own table of limits is what counts: the user may have written other numbers than the real service has."""
_CHOICES = 500
_FEWEST_AUTHORS = 500
_POOL = 20
"""So many times the posts wanted are looked at."""
_MOST_READ = 10_000
_TAGS = tuple(f"#{tag_name(number)}" for number in range(TAGS_PER_TOWN * len(TOWNS)))
_WORDS = tuple(dict.fromkeys(word for words in zip(*VOCABULARY.values(), strict=True) for word in words))
_OLDEST_POST = timedelta(days=90)


class Stage:
    """A world with everything a plan names, as of the time a rehearsal begins."""

    def __init__(self, plan: CrawlPlan, credentials: Sequence[Credential], settings: WorldSettings) -> None:
        self.world = World(settings)
        self.start = settings.start
        self._plan = plan
        self.services = {each.service.name: self._service(each) for each in plan.services}
        self.first: SimulatedService = self.services[plan.services[0].service.name]
        self.values = self._issue(credentials)
        self._weights = self._all_weights()

    def _service(self, planned: ServicePlan) -> SimulatedService:
        hosts = [urlsplit(each.service.base).netloc for each in self._plan.services if each.service.provider == "mastodon"]
        setup = Setup(
            dialect=planned.service.provider,
            world=self.world.settings,
            scale=_UNLIMITED,
            tokens=0,
            domain=urlsplit(planned.service.base).netloc,
            servers=tuple(dict.fromkeys(hosts)) if len(hosts) > 1 else (),
        )
        return simulate(setup, self.world)

    def _issue(self, credentials: Sequence[Credential]) -> dict[str, dict[str, str]]:
        """Tokens for every credential; services of one network give out the same ones."""
        values = {}
        for name, service in self.services.items():
            speaks = next(each.service.provider for each in self._plan.services if each.service.name == name)
            for each in (each for each in credentials if each.provider == speaks):
                token = service.tokens.issue(each.kind, account=each.account or each.name, app=each.app or "app")
                values[each.name] = secret_values(token)
        return values

    @property
    def subject(self) -> Subject:
        """What the seeds of the flow are."""
        facets = provider(self._plan.services[0].service.provider).facets
        return next((facets[name].subject for name in self._plan.flow.seeds if name in facets), Subject.WORD)

    @property
    def load(self) -> float:
        """About how many items one seed brings."""
        flow = self._plan.flow
        if self.subject is Subject.USER:
            mean = float(self._weights.mean()) + 1
            # Of a list a whole page costs about as much as one post.
            return mean ** (flow.filters.max_depth or 2) / 3 if is_growing(self._plan) else mean
        return 500.0 if self.subject is Subject.WORD else 5.0 if flow.edges else 1.0

    def seeds(self, model: Model) -> tuple[str, ...]:
        """Seeds that together are like the whole world: a random choice would seldom have its share of the busiest."""
        count = model.played
        if not self._plan.flow.seeds:
            return ()
        if self._plan.flow.keywords is not None:
            return self.event_seeds()
        if self.subject is Subject.USER:
            rates = np.where(self._weights > 0, self.world.people.rate, 0.0)
            chosen = typical(self._weights, rates, count, self.world.settings.seed)
            return tuple(self.first.dialect.account_key(account) for account in chosen)
        if self.subject is Subject.POST:
            return self._posts(model)
        return self._words(count)

    def event_seeds(self) -> tuple[str, ...]:
        """Return the two hashtags that the event of the world has from its beginning, or the first one for a single seed."""
        event = planned_event(self.world.settings)
        tags = () if event is None else tuple(f"#{tag}" for tag in event.tags[:2])
        return tags[:1] if len(list(islice(self._plan.seeds, 2))) == 1 else tags

    def _words(self, count: int) -> tuple[str, ...]:
        """Hashtags and plain words, as many of each as the file has: they are asked of different facets."""
        written = [text.startswith("#") for text in islice(self._plan.seeds, _MOST_READ)]
        share = sum(written) / len(written) if written else 1.0
        # Of two kinds each is played, however seldom it is.
        least, most = int(share > 0), count - int(share < 1)
        tags = min(max(round(share * count), least), max(least, most))
        return (*_TAGS[:tags], *_WORDS[: count - tags])

    def _posts(self, model: Model) -> tuple[str, ...]:
        """Posts of the last months as a list of ids may hold them, those deleted meanwhile among them."""
        since, until, count = to_ms(self.start - _OLDEST_POST), to_ms(self.start), model.played
        rows = [row for account in self._authors(model) for row in self.world.all_rows(account, since, until)]
        if self._plan.services[0].service.provider == "bluesky":
            # There a repost is a record of its own, and no post.
            rows = [row for row in rows if row.kind != REPOST]
        rows = sorted(rows, key=lambda row: mix(row.number, self.world.settings.seed))[: _POOL * count]
        chosen = self._passed_on(rows, count) if self._plan.flow.edges else rows[:count]
        return tuple(self.first.dialect.post_key(row.number) for row in chosen)

    def _authors(self, model: Model) -> list[int]:
        """As many times fewer accounts as seeds, so that posts have as often the same author as those of all seeds."""
        people = self.world.people
        count = max(_FEWEST_AUTHORS, round(len(self.world) * model.factor))
        return typical(people.rate, people.rate * people.popularity, count, self.world.settings.seed)

    def _passed_on(self, rows: Sequence[Row], count: int) -> list[Row]:
        """Posts that are together passed on as all are: few are, and some of them very often."""
        counters = Reactions(self.world).counters([row.number for row in rows], to_ms(self.start))
        reposts = np.array([each.reposts for each in counters])
        quotes = np.array([each.quotes + (row.kind != REPOST) for each, row in zip(counters, rows, strict=True)])
        return [rows[place] for place in typical(reposts, quotes, count, self.world.settings.seed)]

    def _all_weights(self) -> Array:
        now = to_ms(self.start)
        asked = {use.name for use in self._plan.flow.facets}
        is_about_posts = "timeline" in asked

        def weight(account: int) -> int:
            if not self.world.is_open(account, now) or self._opts_out(account):
                return 0
            if is_about_posts:
                return self.world.post_count(account, now)
            return 0 if self.world.people.hides_network[account] else sum(self.world.graph.counts(account, now))

        return np.array([weight(account) for account in range(len(self.world))])

    def _opts_out(self, account: int) -> bool:
        """Whether the network shows that an account wants to be left alone, and the crawl does so."""
        people, speaks = self.world.people, self._plan.services[0].service.provider
        if self._plan.flow.filters.follow_opted_out or speaks not in ("mastodon", "bluesky"):
            return False
        given = {Signal.NO_UNAUTHENTICATED: people.is_noindex[account]}
        if speaks == "mastodon":
            given = {
                Signal.NOINDEX: people.is_noindex[account],
                Signal.INDEXABLE: not people.is_indexable[account],
                Signal.NOBOT: people.says_nobot[account],
                Signal.DISCOVERABLE: not people.is_discoverable[account],
            }
        return any(given.get(signal) for signal in self._plan.consent.counted)

    def transport(self, clock: Clock, network: Network) -> SilentTransport:
        return SilentTransport(InProcessTransport(self.services, clock, network))

    def expected_posts(self, seed: str, now: datetime) -> list[str]:
        """All posts of a seed that can be read now, the newest first; none of an account that opted out."""
        account = self.first.account(seed)
        if not self.first.truth.is_available(account, now) or self._opts_out(account):
            return []
        found = self.first.posts_to_find(seed, self.start - timedelta(days=9_000), now, now)
        return [post for post, deleted in found.items() if deleted is None or deleted > now]


def is_growing(plan: CrawlPlan) -> bool:
    """Whether the flow goes from account to account along lists."""
    return plan.flow.walks or any(edge.take in ("neighbours", "users") for edge in plan.flow.edges)


def typical(weights: Array, others: Array, count: int, seed: int) -> list[int]:
    """Accounts that are together like all: one at random from each of `count` equal parts in order of weight, and of many such
    choices the one whose means of weight and of `others`, and of their roots, are nearest to those of all."""
    rng = generator(seed, 77)
    parts = np.array_split(np.argsort(weights, kind="stable"), min(count, len(weights)))
    marks = np.stack([weights, np.sqrt(weights), weights > 0, others, np.sqrt(others), others > 0], axis=1).astype(float)
    marks = (marks - marks.mean(axis=0)) / np.maximum(marks.std(axis=0), 1e-9)
    choices = np.stack([part[rng.integers(0, len(part), _CHOICES)] for part in parts], axis=1)
    best = np.argmin(np.abs(marks[choices].mean(axis=1)).max(axis=1))
    # Not in order of weight: a crawl would then begin with those that have least, and seem to catch up too soon.
    return [int(account) for account in rng.permutation(choices[best])]


class SilentTransport:
    """Carries requests to a stage and leaves out what the answers say of limits: those of the crawl file are played."""

    def __init__(self, inner: InProcessTransport) -> None:
        self._inner = inner

    async def send(self, service: Service, request: Request) -> Answer:
        return _without_limits(await self._inner.send(service, request))

    async def connect(self, service: Service, request: Request, wire: Wire) -> Connection | Answer:
        opened = await self._inner.connect(service, request, wire)
        return _without_limits(opened) if isinstance(opened, Answer) else opened

    async def close(self) -> None:
        await self._inner.close()


def _without_limits(answer: Answer) -> Answer:
    return structs.replace(answer, headers={name: text for name, text in answer.headers.items() if "limit" not in name})
