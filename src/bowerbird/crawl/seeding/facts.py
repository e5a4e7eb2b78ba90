"""One page as the seeder sees it, and what it tells about each target found in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from bowerbird.flows.flow import Filters
from bowerbird.flows.language.condition import Facts
from bowerbird.model import Judged, Page, Post, PostKind, Saved, SavedPost, SavedUser, Subject, Task, User, asked_about
from bowerbird.model.subjects.community import JUDGE as COMMUNITY


class Found(NamedTuple):
    """A target an edge found in a page, with the account or post it was found by."""

    key: str
    user: User | None = None
    post: Post | None = None
    origin: Task | None = None


class PageView:
    """A page with the look-ups that edges need; each is built only when asked for."""

    def __init__(self, tasks: Sequence[Task], page: Page, saved: Saved) -> None:
        self.tasks = tasks
        self.page = page
        self.saved = saved
        self.only_task = tasks[0] if len(tasks) == 1 else None
        self._deepest = max((task.depth for task in tasks), default=0)

    @cached_property
    def asked(self) -> Mapping[str, Task]:
        return {task.target: task for task in self.tasks}

    @cached_property
    def users(self) -> Mapping[str, User]:
        return {user.key: user for user in self.page.users}

    @cached_property
    def users_by_id(self) -> Mapping[str, User]:
        return {user.id: user for user in self.page.users}

    @cached_property
    def posts_by_id(self) -> Mapping[str, Post]:
        return {post.id: post for post in self.page.posts}

    @cached_property
    def saved_users(self) -> Mapping[str, SavedUser]:
        return {user.key: user for user in self.saved.users}

    @cached_property
    def saved_posts(self) -> Mapping[str, SavedPost]:
        return {post.key: post for post in self.saved.posts}

    @cached_property
    def shown(self) -> frozenset[str]:
        """Ids of those whose profile shows a post of theirs; what came along inside such posts does not count."""
        along = self.page.along
        return frozenset(post.author for post in self.saved.posts if post.id not in along)

    @cached_property
    def opted_out(self) -> frozenset[str]:
        """Keys and ids of the accounts that asked to be left alone; ids, because posts name their author by id."""
        return frozenset(name for user in self.page.users if user.opts_out for name in (user.key, user.id))

    @cached_property
    def asked_users(self) -> Mapping[str, Task]:
        return asked_about(self.tasks, self.page)

    def task_about(self, user: User) -> Task | None:
        """The task that asked about this account, by key or by handle."""
        return self.asked_users.get(user.key)

    def news(self, found: Found) -> int:
        """How much is new about a target: the posts its counter moved by that the page does not show, or once for a post."""
        saved = self.saved_users.get(found.key) if found.post is None and found.user is not None else None
        return 1 if saved is None else max(self.unseen(saved), 1)

    def unseen(self, saved: SavedUser) -> int:
        """By how much a profile's counter moved since the last look, less the newest post where the profile itself shows it."""
        if saved.posts_before is None or saved.posts_now is None:
            return 1
        moved = saved.posts_now - saved.posts_before
        return max(moved - 1, 0) if saved.id in self.shown else moved

    def is_first_look(self, user: User, saved: SavedUser) -> bool:
        task = self.task_about(user)
        return saved.is_new or saved.posts_before is None or (task is not None and task.visits == 0)

    def belief(self, key: str) -> bytes | None:
        """What the ranker of the lane that asked remembers of this very target."""
        task = self.asked.get(key)
        return None if task is None else task.memory

    def asker(self, found: Found) -> Task | None:
        """The task that asked for this very target, by whichever name."""
        task = self.asked.get(found.key)
        return self.task_about(found.user) if task is None and found.post is None and found.user is not None else task

    def depth(self, found: Found, is_step: bool) -> int:
        if (task := self.asker(found)) is not None:
            return task.depth
        # In a batch whose answer does not say whom an item belongs to, the deepest is the one that breaks no limit.
        origin = found.origin or self.only_task
        return (origin.depth if origin else self._deepest) + is_step


def facts_of(found: Found, depth: int, view: PageView, filters: Filters) -> Facts:
    """Answers the words of a condition for one target."""
    target = _Target(found, depth, view, filters)
    return lambda asked: _judged(target, asked) if isinstance(asked, Judged) else _FACTS[asked](target)


class _Target(NamedTuple):
    found: Found
    depth: int
    view: PageView
    filters: Filters

    def saved(self) -> SavedUser | None:
        return self.view.saved_users.get(self.found.user.key) if self.found.user else None


def _of_user(name: str) -> Callable[[_Target], Any]:
    return lambda target: getattr(target.found.user, name, None)


def _of_post(name: str) -> Callable[[_Target], Any]:
    return lambda target: getattr(target.found.post, name, None)


def _is_kind(kind: PostKind) -> Callable[[_Target], Any]:
    return lambda target: target.found.post is not None and target.found.post.kind is kind


def _news(target: _Target) -> bool:
    """Whether asking for posts can bring something: anything but a counter that is known and has not moved."""
    user, saved = target.found.user, target.saved()
    if user is None or saved is None or saved.posts_now is None:
        return True
    # A first look is worth a call even at zero: some networks do not count reposts (Bluesky).
    return target.view.is_first_look(user, saved) or target.view.unseen(saved) != 0


def _first(target: _Target) -> bool:
    user, saved = target.found.user, target.saved()
    return user is not None and (saved is None or target.view.is_first_look(user, saved))


def _new(target: _Target) -> bool:
    if target.found.post is not None and target.found.user is None:
        saved = target.view.saved_posts.get(target.found.post.key)
        return saved is not None and saved.is_new
    user = target.saved()
    return user is not None and user.is_new


def _new_post(target: _Target) -> bool:
    saved = target.view.saved_posts.get(target.found.post.key) if target.found.post is not None else None
    return saved is not None and saved.is_new


def _changed(target: _Target) -> bool:
    saved = target.saved()
    return saved is not None and (saved.is_new or saved.is_changed)


def _language(target: _Target) -> str | None:
    return getattr(target.found.post, "language", None) or getattr(target.found.user, "language", None)


def _judged(target: _Target, wanted: Judged) -> bool:
    """Whether a judge said this of the post that the target was found by, or else of the account; a judge of people alone, of
    who wrote the post."""
    post, user = target.found.post, target.saved()
    saved = target.view.saved_posts.get(post.key) if post is not None else None
    if saved is not None and wanted.judge == COMMUNITY:
        return wanted.is_said(target.view.saved.judged.get((Subject.USER, saved.author), frozenset()))
    item = (Subject.POST, saved.id) if saved is not None else (Subject.USER, user.id) if user is not None else None
    said = target.view.saved.judged.get(item, frozenset()) if item is not None else frozenset()
    return wanted.is_said(said)


def _limit(value: int | None) -> float:
    return math.inf if value is None else value


_FACTS: Mapping[str, Callable[[_Target], Any]] = {
    "news": _news,
    "first": _first,
    "new": _new,
    "new_post": _new_post,
    "changed": _changed,
    "protected": _of_user("is_protected"),
    "bot": _of_user("is_bot"),
    "verified": _of_user("is_verified"),
    "repost": _is_kind(PostKind.REPOST),
    "reply": _is_kind(PostKind.REPLY),
    "quote": _is_kind(PostKind.QUOTE),
    "edited": lambda target: target.found.post is not None and target.found.post.edited_at is not None,
    "cut": _of_post("is_cut"),
    "located": lambda target: _judged(target, Judged("place")),
    "along": lambda target: target.found.post is not None and target.found.post.id in target.view.page.along,
    "depth": lambda target: target.depth,
    "followers": _of_user("followers"),
    "following": _of_user("following"),
    "posts": _of_user("posts"),
    "replies": _of_post("replies"),
    "reposts": _of_post("reposts"),
    "likes": _of_post("likes"),
    "quotes": _of_post("quotes"),
    "max_depth": lambda target: _limit(target.filters.max_depth),
    "max_users": lambda target: _limit(target.filters.max_users),
    "max_followers": lambda target: _limit(target.filters.max_followers),
    "max_following": lambda target: _limit(target.filters.max_following),
    "language": _language,
    "text": _of_post("text"),
    "handle": _of_user("handle"),
    "name": _of_user("name"),
    "description": _of_user("description"),
    "location": _of_user("location"),
}
