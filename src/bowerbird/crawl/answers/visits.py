"""What one settled call learned about each of its tasks, and what becomes of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.crawl.answers.short_lists import left_alone, note_missing
from bowerbird.crawl.answers.unreadable import answers_to
from bowerbird.crawl.answers.verdict import Verdict, judge, settled
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.model import Arrival, Judged, Lease, Page, Post, Saved, SavedUser, Settled, Subject, Task, User, Visit
from bowerbird.ports import Frontier, Links, Transaction

_NOBODY: frozenset[str] = frozenset()


class Case(Struct, frozen=True, kw_only=True):
    """An answer that was understood and saved: what the tasks it was asked for are judged by."""

    lane: Lane
    lease: Lease
    page: Page
    saved: Saved
    now: datetime
    goes_on: bool = False
    """What the server does not offer is asked in another way from now on."""
    witness: Sequence[Arrival] = ()
    """A target to ask once more."""


class Ended(Struct, frozen=True):
    """What became of the tasks of a call."""

    given_up: int
    left_alone: tuple[str, ...]
    """Seeds that turned out to have asked not to be collected."""


async def end_tasks(tx: Transaction, targets: Targets, case: Case) -> Ended:
    """Ends the leases of a call, raising `Fenced` where one is no longer ours; writes down what it will never bring."""
    lane, lease, page = case.lane, case.lease, case.page
    tasks = lane.ranked(await _as_they_are(tx, targets.frontier, lane, lease.tasks))
    known = visits_of(tasks, page, case.saved, case.now, follows_opted_out=lane.follows_opted_out)
    visits = [known[task.task] for task in tasks]
    if lane.links is not None:
        visits = [await _looked_around(tx, targets.frontier, lane.links, visit) for visit in visits]
    settled_tasks = ended(lane, page, visits, goes_on=case.goes_on)
    await targets.end(tx, settled_tasks, case.witness, lease.call, case.now)
    shy = await note_missing(tx, lane, lease, page, settled_tasks, case.now)
    return Ended(sum(task.failure is not None for task in settled_tasks), shy)


async def _as_they_are(tx: Transaction, frontier: Frontier, lane: Lane, tasks: Sequence[Task]) -> Sequence[Task]:
    """The leased tasks with what their ranker wrote into them while the call was out."""
    if not lane.ranker.remembers:
        return tasks
    known = await frontier.known(tx, [Arrival(lane=task.lane, target=task.target) for task in tasks])
    # A task whose target was forgotten meanwhile has another name by now.
    memories = {task.task: task.memory for task in known.values()}
    return [replace(task, memory=memories.get(task.task, task.memory)) for task in tasks]


async def _looked_around(tx: Transaction, frontier: Frontier, links: Links, visit: Visit) -> Visit:
    """The visit with what the lane remembers of the neighbours, for a walk that sees one side of each relation only."""
    lane, target = visit.task.lane, visit.task.target
    linked_by = tuple(await links.to(tx, lane, target)) if visit.is_finished else ()
    ends = {end for each in visit.relations for end in (each.source, each.target)} | set(linked_by)
    known = await frontier.known(tx, [Arrival(lane=lane, target=end) for end in ends - {target}])
    around = {task.target: task.memory for task in known.values() if task.memory is not None}
    return replace(visit, linked_by=linked_by, around=around)


def visits_of(
    tasks: Sequence[Task], page: Page, saved: Saved, now: datetime, *, follows_opted_out: bool = False
) -> Mapping[int, Visit]:
    """One visit per task, by the task's number."""
    profiles = {user.key: user for user in page.users}
    users = {user.key: user for user in saved.users}
    gone = {item.key: item.reason for item in page.gone}
    news = _news(tasks, page, saved, users)
    shown = {post.author for post in page.posts if post.id not in page.along}
    return {
        task.task: Visit(
            task=task,
            at=now,
            outcome=gone.get(task.target, page.outcome),
            is_finished=page.cursor is None,
            results=page.results,
            new=len(news[task.target]) + (saved.entries_new if len(tasks) == 1 else 0),
            removed=saved.relations_removed if len(tasks) == 1 else 0,
            shows_posts=task.target in users and users[task.target].id in shown,
            post_times=tuple(post.created_at for post in news[task.target] if post.created_at is not None),
            posts_before=_before(users.get(task.target)),
            posts_now=_now(users.get(task.target)),
            created_at=_made(profiles.get(task.target)),
            judged=_judged(users.get(task.target), saved),
            relations=page.relations,
            left_alone=_NOBODY if follows_opted_out or not page.relations else left_alone(page),
        )
        for task in tasks
    }


def ended(lane: Lane, page: Page, visits: Sequence[Visit], *, goes_on: bool) -> list[Settled]:
    """What becomes of each task after its visit. `goes_on`: what the server does not offer is asked in another way."""
    found = []
    answers = answers_to([visit.task for visit in visits], page, lane.facet) if page.broken else [page] * len(visits)
    for visit, answer in zip(visits, answers, strict=True):
        verdict = Verdict.UNASKED if goes_on else judge(visit.task, answer, len(visits), lane.max_pages)
        visit = replace(visit, is_finished=verdict is Verdict.VISITED)
        end = lane.placed(settled(visit, answer, verdict, lane.ranker))
        found.append(replace(end, is_paged=lane.is_paged(visit.task.target, end.progress)))
    return found


def _news(tasks: Sequence[Task], page: Page, saved: Saved, users: Mapping[str, SavedUser]) -> defaultdict[str, list[Post]]:
    """The new posts of a page by target: all of them for a lone task, in a batch those that the target wrote."""
    news: defaultdict[str, list[Post]] = defaultdict(list)
    new = {post.id for post in saved.posts if post.is_new}
    fresh = [post for post in page.posts if post.id in new] if new else []
    if len(tasks) == 1:
        news[tasks[0].target] = fresh
        return news
    keys = {user.id: key for key, user in users.items()} if fresh else {}
    for post in fresh:
        news[keys.get(post.author, "")].append(post)
    return news


def _before(user: SavedUser | None) -> int | None:
    return user.posts_before if user else None


def _now(user: SavedUser | None) -> int | None:
    return user.posts_now if user else None


def _judged(user: SavedUser | None, saved: Saved) -> frozenset[Judged]:
    return saved.judged.get((Subject.USER, user.id), frozenset()) if user else frozenset()


def _made(user: User | None) -> datetime | None:
    return user.created_at if user else None
