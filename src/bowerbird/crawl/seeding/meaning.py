"""What seeds mean before there is a crawl: the service, facet and target of each, or why there is none. Pure.

The same is asked by `flow check`, by `doctor` and by a crawl, at its start and when it sows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.crawl.seeding.homes import host_of
from bowerbird.errors import Failure, UserError
from bowerbird.flows.files.sections.seed_list import Seed, is_text
from bowerbird.flows.flow import Flow
from bowerbird.model import NETWORKS, Facet, KeyForm, Service, Subject
from bowerbird.providers.base import Provider

BAD_SEEDS = "bad_seeds"
OTHER_SERVER = "seed_of_other_server"
_MOST_NAMED = 5


class Placed(NamedTuple):
    """What a seed means."""

    service: str
    facet: str
    target: str


class Unaskable(UserError):
    """A seed is understood, but the facet that it belongs to cannot be asked."""

    def __init__(self, text: str, service: str, facet: str, why: Failure) -> None:
        self.reason = why.within(f"{service} cannot be asked for {facet}: {why.problem}")
        super().__init__(f"{text!r}: {self.reason.problem}", why.advice, code=why.code)


class ServiceSeeds(Struct, frozen=True):
    """One service as seeds fall on it: the facets that take seeds, in their order, and those of them that cannot be asked."""

    service: Service
    provider: Provider
    facets: tuple[Facet, ...]
    lost: Mapping[str, Failure] = {}
    """By facet: why it cannot be asked there."""

    def place(self, text: str) -> Placed:
        """The target in the first facet that can take it; a seed is not asked for in another way than was meant."""
        problem: UserError | None = None
        # What begins with # is a hashtag, also for a flow that otherwise searches.
        order = sorted(self.facets, key=lambda each: each.name != "hashtag") if text.startswith("#") else self.facets
        for facet in order:
            try:
                self._check_server(text, facet)
                target = self.provider.target(text, facet)
            except UserError as error:
                problem = error
                continue
            if facet.name in self.lost:
                raise Unaskable(text, self.service.name, facet.name, self.lost[facet.name])
            return Placed(self.service.name, facet.name, target)
        raise problem or UserError(
            f"the flow takes no seeds on {self.service.name}, so {text!r} cannot be one", code="unsupported"
        )

    def _check_server(self, text: str, facet: Facet) -> None:
        """On networks of many servers the number in a post's address means something on that server alone."""
        if facet.subject is not Subject.POST or NETWORKS[self.provider.network].keys is not KeyForm.LOCAL:
            return
        host = _host_in(text)
        if host and host != host_of(self.service):
            raise UserError(
                f"{text!r} is a post on {host}, and this crawl asks {self.service.name}",
                f"add that server as another [[services]], or open the post on {host_of(self.service)} and write its address "
                "there",
                code=OTHER_SERVER,
            )


def plot(flow: Flow, service: Service, provider: Provider, lost: Mapping[str, Failure]) -> ServiceSeeds:
    there = flow.among(provider.facets)
    return ServiceSeeds(service, provider, tuple(provider.facets[name] for name in there.seeds if name in provider.facets), lost)


class SeedMeanings(Struct, frozen=True):
    """All services of a crawl as seeds fall on them; the first is meant unless a seed says otherwise."""

    plots: tuple[ServiceSeeds, ...]

    def place(self, text: str) -> Placed:
        """What a person means; an address of another server of the crawl goes to that server."""
        if not is_text(text):
            shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            raise UserError(f"{shown!r:.60} is not UTF-8 text", "save the file as UTF-8", code="file_unreadable")
        host = _host_in(text) if len(self.plots) > 1 else ""
        return next((each for each in self.plots if host and host_of(each.service) == host), self.plots[0]).place(text)

    def sort(self, seeds: Iterable[Seed], unusable: UnusableSeeds) -> Iterator[tuple[Seed, Placed]]:
        """The seeds that mean something; the others are counted."""
        for seed in seeds:
            try:
                placed = self.place(seed.text)
            except UserError as error:
                unusable.add(seed, error)
            else:
                unusable.good += 1
                yield seed, placed


def _host_in(text: str) -> str:
    """The server that an address names."""
    return urlsplit(text).netloc.lower() if "://" in text else ""


class UnusableSeeds:
    """The seeds that nobody can ask about: the first few with the reason, the rest as a number, for a file may hold only such."""

    def __init__(self) -> None:
        self.good = 0
        self.bad = 0
        self.first: list[str] = []
        self._only: Failure | None = None
        """What is wrong with the one bad seed, while there is no other."""
        self._unaskable: dict[Failure, str] = {}
        self._counts: Counter[Failure] = Counter()

    def add(self, seed: Seed, error: UserError) -> None:
        if isinstance(error, Unaskable):
            self._unaskable.setdefault(error.reason, seed.text)
            self._counts[error.reason] += 1
            return
        self.bad += 1
        place = f"{seed.where}: " if seed.where else ""
        self._only = error.failure.within(f"{place}{error.problem}") if self.bad == 1 else None
        if len(self.first) < _MOST_NAMED:
            self.first.append(f"{place}{error}")

    @property
    def unaskable(self) -> list[Failure]:
        """What cannot be asked although it is understood."""
        about = "nothing can be asked about"
        return [reason.within(f"{about} {self._asked(reason)}: {reason.problem}") for reason in self._unaskable]

    def _asked(self, reason: Failure) -> str:
        more = self._counts[reason] - 1
        return repr(self._unaskable[reason]) + (f" and {more:,} more seed{'s' * (more != 1)}" if more else "")

    def check(self, *, skips_bad: bool = False) -> None:
        """Raises `UserError` that names what is wrong; `skips_bad`: bad ones are borne as long as there are others."""
        if self._unaskable:
            several = self.unaskable
            if len(several) == 1:
                raise UserError(several[0].problem, several[0].advice, code=several[0].code)
            raise UserError("\n  ".join(map(str, several)), code=several[0].code)
        if self.bad and not skips_bad:
            advice = "to go on without them, add --skip-bad" if self.good else ""
            if self._only is not None and not self.good:
                raise UserError(self._only.problem, self._only.advice, code=self._only.code)
            lines = "\n  ".join([*self.first, *self._more()])
            raise UserError(f"{lines}\n" if advice else lines, advice, code=BAD_SEEDS)
        if self.bad and not self.good:
            raise UserError("\n  ".join(["not one of the seeds can be understood:", *self.first, *self._more()]), code=BAD_SEEDS)

    def _more(self) -> list[str]:
        rest = self.bad - len(self.first)
        return [f"and {rest:,} more that cannot be seeds"] if rest else []

    def report(self) -> list[str]:
        """What was skipped, for people."""
        if not self.bad:
            return []
        head = f"{self.bad:,} of {self.bad + self.good:,} seeds cannot be understood and are skipped:"
        return [head, *(f"  {line}" for line in (*self.first, *self._more()))]
