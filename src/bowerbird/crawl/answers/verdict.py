"""What becomes of a task after a call: the one place that decides about retries. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum

from bowerbird.errors import Failure
from bowerbird.model import Backoff, Outcome, Page, Placement, Progress, Setback, Settled, Task, Visit
from bowerbird.ports import Ranker

MOST_ATTEMPTS = 12
MOST_WORDLESS = 8
"""An answer without a word that may mean an absence is waited for less long: nothing is taken for gone by giving up."""
RETRIES = Backoff(first=timedelta(seconds=2), most=timedelta(minutes=10))
"""After an outage nobody should wait long."""


_MOST_WORDS = 500


class Verdict(Enum):
    VISITED = "visited"
    CONTINUES = "continues"
    DOUBTED = "doubted"
    """None of a whole batch was listed: it is asked again, as it is or beside others, before all of it counts as gone."""
    UNASKED = "unasked"
    """The call said nothing about its targets (a limit, a bad token): they are as ready as before."""
    RETRY = "retry"
    GIVEN_UP = "given_up"


def judge(task: Task, page: Page, batch: int, max_pages: int | None = None) -> Verdict:
    """What one call means for one of its tasks."""
    outcome = page.outcome
    if page.is_doubtful:
        return Verdict.DOUBTED
    if outcome is Outcome.OK:
        may_go_on = max_pages is None or task.pages + 1 < max_pages
        return Verdict.CONTINUES if page.cursor is not None and may_go_on else Verdict.VISITED
    if outcome.is_about_target:
        return Verdict.VISITED
    if outcome is Outcome.NOT_OFFERED:
        return Verdict.GIVEN_UP
    if outcome is Outcome.BAD_REQUEST:
        return Verdict.RETRY if batch > 1 else Verdict.GIVEN_UP
    if outcome.is_passing:
        # Silence and overload are the service's own trouble, however long they last; only its nonsense may be the task's.
        most = MOST_ATTEMPTS if page.perhaps is None else MOST_WORDLESS
        is_hopeless = outcome is Outcome.UNREADABLE and task.attempts + 1 >= most
        return Verdict.GIVEN_UP if is_hopeless else Verdict.RETRY
    return Verdict.UNASKED


def retry_delay(attempts: int) -> timedelta:
    """How long a task waits that was tried so often before this failure."""
    return RETRIES.wait(attempts + 1)


def progress_after(task: Task, page: Page, verdict: Verdict) -> Progress:
    """Where the task stands: a finished listing is known up to its newest item, an unfinished one goes on at its cursor."""
    before = task.progress
    head = before.head or page.head
    if verdict is Verdict.CONTINUES:
        return Progress(page.cursor, before.newest, head)
    if verdict is Verdict.VISITED and page.outcome is Outcome.OK:
        return Progress(None, head or before.newest, None)
    if verdict is Verdict.GIVEN_UP or _is_stuck(task, page):
        # A position that the service refuses is of no use to the next try, which begins anew.
        return Progress(None, before.newest, None)
    return before


def _is_stuck(task: Task, page: Page) -> bool:
    """Whether a service that has been in trouble for hours may be so because of the position alone: some answer 500 to those
    they do not know. Where it is really in trouble, beginning anew costs some pages and loses nothing."""
    return page.outcome is Outcome.OVERLOADED and task.progress.cursor is not None and task.attempts + 1 >= 2 * MOST_ATTEMPTS


def settled(visit: Visit, page: Page, verdict: Verdict, ranker: Ranker) -> Settled:
    """The new state of one task after its call."""
    task, now = visit.task, visit.at
    progress = progress_after(task, page, verdict)
    same_place = Placement(task.priority, now, task.memory)
    if verdict is Verdict.VISITED:
        return Settled(task=task, progress=progress, placement=ranker.visited(visit))
    if verdict is Verdict.CONTINUES:
        same_place = Placement(task.priority, now, ranker.continued(visit))
        return Settled(task=task, progress=progress, placement=same_place, pages=task.pages + 1, is_visit=False)
    if verdict is Verdict.DOUBTED:
        later = Placement(task.priority, now + retry_delay(task.pages), task.memory)
        return Settled(
            task=task, progress=progress, placement=later, attempts=task.attempts, pages=task.pages + 1, is_visit=False
        )
    if verdict is Verdict.UNASKED:
        return Settled(
            task=task, progress=progress, placement=same_place, attempts=task.attempts, pages=task.pages, is_visit=False
        )
    attempts = task.attempts + 1
    later = Placement(task.priority, now + retry_delay(task.attempts), task.memory)
    failure = failure_of(page) if verdict is Verdict.GIVEN_UP else None
    return Settled(
        task=task,
        progress=progress,
        placement=later,
        attempts=attempts,
        pages=0 if progress.cursor is None and task.progress.cursor is not None else task.pages,
        is_visit=False,
        failure=failure,
    )


def failure_of(page: Page) -> Failure:
    """Why a task is given up after this page: the outcome, and what the server said."""
    return Failure(page.outcome, page.detail).clipped(_MOST_WORDS)


def set_back(task: Task, why: str, now: datetime) -> Setback:
    """A task whose answer broke our own code: tried again like one whose answer is unreadable, and given up like one."""
    is_hopeless = task.attempts + 1 >= MOST_ATTEMPTS
    return Setback(task, now + retry_delay(task.attempts), Failure("fault", why).clipped(_MOST_WORDS) if is_hopeless else None)


def part_to_ask(tasks: Sequence[Task], most: int) -> tuple[list[Task], list[Task]]:
    """Splits a batch in which something failed before: the suspects are asked in ever smaller groups, the rest later."""
    worst = max(task.attempts for task in tasks)
    if worst == 0 or most == 1:
        return list(tasks), []
    size = max(1, most >> (2 * worst))
    suspects = [task for task in tasks if task.attempts == worst][:size]
    chosen = {task.task for task in suspects}
    return suspects, [task for task in tasks if task.task not in chosen]
