"""One call from question to settled page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bowerbird.model.items import Judged, Page
from bowerbird.model.kinds import Outcome, Subject
from bowerbird.model.work.limits import Facet, Limit
from bowerbird.model.work.tasks import Progress, Task


class Ask(Struct, frozen=True, gc=False):
    """A question to one service, before it is a request: facet, targets and where to go on."""

    facet: str
    targets: tuple[str, ...]
    progress: Progress = Progress()
    hints: dict[str, str] = {}
    """Options the crawl file sets for the facet, such as a smaller page size."""
    looks: int = 0
    """How many answers each of the targets had before in this visit: of a batch, empty ones."""


class Request(Struct, frozen=True, kw_only=True):
    path: str
    method: str = "GET"
    query: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = {}
    body: bytes = b""
    most: int = 2 * 1024 * 1024
    """Bytes that its answer may have, without compression."""

    def __repr__(self) -> str:
        # Signed, it carries a secret: in its headers, or in the body of a login.
        return f"Request({self.method} {self.path})"


class Answer(Struct, frozen=True, kw_only=True, weakref=True):
    """What came back, as it came; `status` 0 means nothing did, or nothing of use, and `failure` says why."""

    status: int
    headers: dict[str, str] = {}
    """Lower-case names."""
    body: bytes = b""
    sent_at: datetime
    received_at: datetime
    failure: str = ""
    is_spoilt: bool = False
    """The server did answer, with a body that is too large, packed in another way than was asked for, or broken."""

    @property
    def silence(self) -> Outcome:
        """What a `status` of 0 means: silence is the server's own trouble, a spoilt answer may be due to what was asked."""
        return Outcome.UNREADABLE if self.is_spoilt else Outcome.UNANSWERED


class Fetched(Struct, frozen=True, kw_only=True):
    """How the download of one picture or film ended."""

    status: int = 0
    """Of HTTP; 0 when no answer came."""
    type: str = ""
    """What the server calls the content, such as `image/png`."""
    failure: str = ""
    """Empty exactly when everything was fetched."""
    is_final: bool = False
    """No later try can end otherwise: too large, or a place we must not go to."""
    retry_after: timedelta | None = None


class Service(Struct, frozen=True, kw_only=True):
    """One reachable instance of a network."""

    name: str
    provider: str
    base: str
    """Scheme, host and port, without a trailing slash."""


class Door(Struct, frozen=True):
    """A question that every server of a network answers somehow, and whether an answer is one of its own."""

    path: str
    is_own: Callable[[Mapping[str, Any], str], bool]
    """Told what the answer says, and the path of the base."""


class Trial(Struct, frozen=True):
    """One cheap call that shows whether a service takes a credential, and the facet whose limits it takes from."""

    facet: Facet
    request: Request


class Charge(Struct, frozen=True, gc=False):
    """What one call takes from one bucket."""

    bucket: str
    amount: int
    limit: Limit
    finished_before: int = 0
    """How many calls the bucket had finished when this one was leased: bounds what its headers can know."""
    payer: str = ""
    """To whom `once_a_day` applies; empty: the owner of the bucket."""


class Call(Struct, frozen=True, kw_only=True):
    """One call as limits and query log know it."""

    call: int = 0
    """Its number; 0 until it is logged."""
    worker: int
    ask: Ask
    credential: str | None
    """By name: the secret stays with the worker."""
    charges: tuple[Charge, ...]
    leased_at: datetime
    until: datetime
    """After this it counts as lost."""
    rank_time: timedelta = timedelta(0)


class Lease(Call, frozen=True, kw_only=True):
    """The right to make one call until a time, with everything that a worker on any machine needs for it."""

    service: Service
    """Where to, and by its provider's name in which dialect."""
    request: Request
    """Not signed."""
    fault: str = ""
    """Why our own code could not build the request; the call can only be dropped."""
    tasks: tuple[Task, ...]
    """Each with the fencing token that it was leased with."""


class SavedUser(Struct, frozen=True, gc=False):
    id: str
    key: str
    is_new: bool
    is_changed: bool
    posts_before: int | None
    posts_now: int | None
    is_back: bool = False
    """It was hidden from the public until now: what was taken out of the store then can be had again."""
    is_view: bool = False
    """As a service shows it that does not speak for it: the stored profile is another one."""


class SavedPost(Struct, frozen=True, gc=False):
    id: str
    key: str
    author: str
    is_new: bool
    is_view: bool = False
    """As a service shows it that does not speak for it: nothing of that was stored."""


class Recalled(Struct, frozen=True, kw_only=True):
    """Posts listed before, told again: by the lane that listed them, as if they had just been saved."""

    pages: tuple[tuple[int, Page, Saved], ...] = ()
    lacking: frozenset[tuple[int, str]] = frozenset()
    """Lane and target of the tasks that should be there, or awake, and are not."""
    upto: int
    """The last sighting looked at."""
    at: datetime
    """When the last of them was listed."""


class Saved(Struct, frozen=True, kw_only=True):
    """What a page changed in the store: the seeder's and the rankers' input."""

    users: tuple[SavedUser, ...] = ()
    posts: tuple[SavedPost, ...] = ()
    relations_new: int = 0
    relations_removed: int = 0
    reactions_new: int = 0
    tags_new: int = 0
    """Tags that users gave themselves and did not have before."""
    judged: Mapping[tuple[Subject, str], frozenset[Judged]] = {}
    """By account or post, under its stored id, what judges say of it, where a crawl has any."""
    is_enough: bool = False
    """Whoever wants the listing has all that was wanted of it: it need not go on."""

    @property
    def users_new(self) -> int:
        return sum([user.is_new for user in self.users])

    @property
    def posts_new(self) -> int:
        return sum([post.is_new for post in self.posts])

    @property
    def entries_new(self) -> int:
        """Entries of lists: relations, reactions, tags of users."""
        return self.relations_new + self.reactions_new + self.tags_new

    @property
    def items_new(self) -> int:
        """Items of whatever kind that were not stored before."""
        return self.counts_new[0]

    @property
    def counts_new(self) -> tuple[int, int, int]:
        """Items of whatever kind, accounts and posts that were not stored before. What counts as new is said here and nowhere
        else."""
        users, posts = self.users_new, self.posts_new
        return users + posts + self.entries_new, users, posts


class Answered(Struct, frozen=True):
    """A call with what came of it."""

    call: Call
    answer: Answer
    page: Page


def asked_about(tasks: Sequence[Task], page: Page) -> Mapping[str, Task]:
    """By key the accounts of a page that its call asked about, each with the task that named it, by key or by handle; others
    only came along."""
    keys = {task.target: task for task in tasks}
    handles = {target.removeprefix("@").casefold(): task for target, task in keys.items() if target.startswith("@")}
    found = {user.key: keys.get(user.key) or handles.get((user.handle or "").removeprefix("@").casefold()) for user in page.users}
    # A lone account answers a lone name, whichever way the service spells it (`@ada@home.example` may come back as `ada`).
    lone = page.about or (page.users[0].key if len(page.users) == 1 else None)
    if lone is not None and handles and len(tasks) == 1:
        found[lone] = tasks[0]
    return {key: task for key, task in found.items() if task is not None}
