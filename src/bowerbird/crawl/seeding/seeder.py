"""What a settled page adds to the frontier, by the edges of one flow.

Depth counts steps from a seed: a target other than the one asked about is one step farther, except the posts a page lists, which
belong to where they were found. A target found twice keeps the shorter way. Accounts that opted out
are not followed, nor are their posts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from bowerbird.crawl.seeding.facts import Found, PageView, facts_of
from bowerbird.crawl.seeding.homes import Home
from bowerbird.crawl.seeding.takes import FINDERS
from bowerbird.flows.flow import STREAM, TAKES, Edge, Filters, Flow, Take, wakes
from bowerbird.flows.language import condition
from bowerbird.model import Arrival, Outcome, Page, Post, Saved, Subject, Task


class _Way(NamedTuple):
    """An edge made ready for use."""

    lane: int
    find: Callable[[PageView], Iterable[Found]]
    take: Take
    condition: condition.Condition | None
    wakes: bool


class FlowSeeder:
    """Reads pages by one flow's edges. Pure; how many accounts a crawl may have is the matter of `Admission`."""

    def __init__(
        self,
        flow: Flow,
        lanes: Mapping[str, int],
        away: Callable[[str | None], Home | None] = lambda handle: None,
    ) -> None:
        """`away`: where an account with this handle is to be asked about, if not on the service the page came from."""
        self._filters = flow.filters
        self._wanted = condition.parse(flow.filters.when) if flow.filters.when else None
        sources = [*(use.name for use in flow.facets), STREAM]
        self._ways = {name: [_way(edge, lanes) for edge in flow.edges_from(name)] for name in sources}
        self._tells_of_empty = {edge.source for edge in flow.edges if edge.take == "owners"}
        self._away = away

    def seed(self, facet: str, tasks: Sequence[Task], page: Page, saved: Saved) -> Sequence[Arrival]:
        """The targets this page adds or wakes, each once per lane."""
        ways = self._ways.get(facet)
        if not ways or not (page.users or page.posts or page.relations or page.lists or page.gone or self._speaks(facet, page)):
            return ()
        view = PageView(tasks, page, saved)
        gate = _Gate(self._filters, self._wanted, view)
        arrivals: dict[tuple[int, str], Arrival] = {}
        for way in ways:
            for found in way.find(view):
                depth = view.depth(found, way.take.is_step)
                if gate.admits(way, found, depth):
                    _keep(arrivals, self._arrival(way, found, depth, view), is_post=found.post is not None)
        return tuple(arrivals.values())

    def _speaks(self, facet: str, page: Page) -> bool:
        """Whether an empty page can add targets: the owner of the list is one."""
        return facet in self._tells_of_empty and page.outcome is Outcome.OK

    def _arrival(self, way: _Way, found: Found, depth: int, view: PageView) -> Arrival:
        home = self._away(found.user.handle) if found.user is not None and way.take.subject is Subject.USER else None
        if home is None:
            is_asked = view.asker(found) is not None
            return Arrival(
                lane=way.lane,
                target=found.key,
                depth=depth,
                wakes=way.wakes,
                # A handle may be looked up after somebody's list has led to the account by a longer way.
                nears=is_asked and self._filters.max_depth is not None,
                news=view.news(found),
                belief=view.belief(found.key),
                is_asked=is_asked,
            )
        return Arrival(lane=home.lane, target=home.target, depth=depth, wakes=False)


class HeardSeeder:
    """Reads the pages of searches that the crawl file's places ask for as if a stream had brought them."""

    def __init__(self, seeder: FlowSeeder) -> None:
        self._seeder = seeder

    def seed(self, facet: str, tasks: Sequence[Task], page: Page, saved: Saved) -> Sequence[Arrival]:
        return self._seeder.seed(STREAM, (), page, saved)


def _way(edge: Edge, lanes: Mapping[str, int]) -> _Way:
    parsed = condition.parse(edge.when) if edge.when else None
    return _Way(lanes[edge.to], FINDERS[edge.take], TAKES[edge.take], parsed, wakes(edge))


def _keep(arrivals: dict[tuple[int, str], Arrival], arrival: Arrival, *, is_post: bool) -> None:
    place = (arrival.lane, arrival.target)
    before = arrivals.get(place)
    if before is not None:
        arrival = structs.replace(
            arrival,
            depth=min(before.depth, arrival.depth),
            wakes=before.wakes or arrival.wakes,
            nears=before.nears or arrival.nears,
            news=before.news + arrival.news if is_post else max(before.news, arrival.news),
            is_asked=before.is_asked or arrival.is_asked,
        )
    arrivals[place] = arrival


class _Gate:
    """Decides for one page which of the found targets may go on."""

    def __init__(self, filters: Filters, wanted: condition.Condition | None, view: PageView) -> None:
        self._filters = filters
        self._wanted = wanted
        self._view = view
        self._is_selective = bool(filters.languages or filters.keywords or wanted)

    def admits(self, way: _Way, found: Found, depth: int) -> bool:
        limit = self._filters.max_depth
        if limit is not None and depth > limit:
            return False
        if not self._filters.follow_opted_out and self._view.opted_out and self._is_opted_out(found):
            return False
        # Seeds were chosen by hand: language, words and judgements only sort what was found on the way.
        if depth and self._is_selective and not self._is_wanted(found, depth):
            return False
        return way.condition is None or way.condition.holds(facts_of(found, depth, self._view, self._filters))

    def _is_opted_out(self, found: Found) -> bool:
        opted_out = self._view.opted_out
        owner = found.post.author if found.post is not None else found.user.key if found.user is not None else ""
        return found.key in opted_out or owner in opted_out

    def _is_wanted(self, found: Found, depth: int) -> bool:
        if self._wanted is not None and not self._wanted.holds(facts_of(found, depth, self._view, self._filters)):
            return False
        languages = self._filters.languages
        spoken = (found.post.language if found.post else None) or (found.user.language if found.user else None)
        if languages and spoken and not any(_is_language(spoken, wanted) for wanted in languages):
            return False
        return found.post is None or not self._filters.keywords or _mentions_any(found.post, self._filters.keywords)


def _is_language(spoken: str, wanted: str) -> bool:
    spoken, wanted = spoken.lower().replace("_", "-"), wanted.lower().replace("_", "-")
    return spoken == wanted or spoken.startswith(wanted + "-")


def _mentions_any(post: Post, keywords: Sequence[str]) -> bool:
    text = f"{post.text or ''} {' '.join('#' + tag for tag in post.tags)}".casefold()
    return any(keyword.casefold() in text for keyword in keywords)


def seed_arrival(lane: int, target: str) -> Arrival:
    """A seed as an arrival; giving the same seeds again wakes nobody."""
    return Arrival(lane=lane, target=target, depth=0, wakes=False)
