"""What one settled call learned about each of its tasks, and what becomes of them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from bowerbird.crawl.answers.unreadable import answers_to
from bowerbird.crawl.answers.verdict import Verdict, judge, settled
from bowerbird.crawl.work.lanes import Lane
from bowerbird.model import Judged, Page, Post, Saved, SavedUser, Settled, Subject, Task, User, Visit, asked_about

_NOBODY: frozenset[str] = frozenset()


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


def left_alone(page: Page) -> frozenset[str]:
    """Keys of the accounts that asked not to be collected, as far as the page shows."""
    return frozenset(user.key for user in page.users if user.opts_out)


def seeds_left_alone(lane: Lane, tasks: Sequence[Task], page: Page) -> tuple[str, ...]:
    """The seeds among the tasks of a look-up whose accounts turned out to have asked not to be collected."""
    shy = left_alone(page) if lane.facet.is_lookup and not lane.follows_opted_out else _NOBODY
    asked = asked_about(tasks, page) if shy else {}
    found = (task for key, task in asked.items() if key in shy)
    return tuple(task.target for task in found if not task.depth and not task.visits)


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
