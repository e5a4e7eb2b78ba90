"""Good answers of which a part cannot be read: who is left without an answer by it. Pure.

What cannot be read is set aside and its page goes on, but then nobody was told what became of it: an account or a post that was
asked for itself is asked for again, alone if need be, and given up only like an answer that cannot be read at all. A page of a
list of which nothing can be read is asked for again for a while; then the list goes on, and what it lacks is written down.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from bowerbird.crawl.answers.verdict import MOST_WORDLESS
from bowerbird.model import Facet, Outcome, Page, Subject, Task, asked_about

UNREAD = "what the server sent of it could not be read and was set aside"
_NOBODY: frozenset[str] = frozenset()


def answers_to(tasks: Sequence[Task], page: Page, facet: Facet) -> list[Page]:
    """What the page is to each task: itself, or an answer that cannot be read."""
    again = unread(tasks, page, facet)
    spoilt = structs.replace(page, outcome=Outcome.UNREADABLE, detail=UNREAD) if again else page
    return [spoilt if task.target in again else page for task in tasks]


def unread(tasks: Sequence[Task], page: Page, facet: Facet) -> frozenset[str]:
    """The targets that are to be asked about again."""
    if page.outcome is not Outcome.OK or not page.broken:
        return _NOBODY
    if is_of_items(facet):
        known = _answered(tasks, page, facet) | {gone.key for gone in page.gone}
        return frozenset(task.target for task in tasks) - known
    is_lost = len(tasks) == 1 and len(page.broken) >= page.results and not _brings_anything(page)
    return frozenset(task.target for task in tasks if is_lost and task.attempts + 1 < MOST_WORDLESS)


def is_of_items(facet: Facet) -> bool:
    """Whether a facet asks for its targets themselves, and not for what belongs to them."""
    return facet.is_lookup or (facet.is_own_route and facet.subject is Subject.POST)


def _answered(tasks: Sequence[Task], page: Page, facet: Facet) -> set[str]:
    if facet.subject is Subject.POST:
        return {post.key for post in page.posts}
    return {task.target for task in asked_about(tasks, page).values()}


def _brings_anything(page: Page) -> bool:
    return bool(page.users or page.posts or page.relations or page.reactions or page.lists or page.members or page.versions)
