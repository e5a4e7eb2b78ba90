"""What of a page answers a question, and whose question: one result for each item. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bowerbird.model import Page, Post, ReactionKind, Relation, Saved, Side, Task, asked_about
from bowerbird.store.people.names import key_in
from bowerbird.store.results.wanted import Wanted, What

SHY = "of accounts that asked not to be collected"


class Found(Struct, frozen=True):
    """One item that answers the question about a target; keys and ids as the page and the store have them."""

    target: str
    item: str
    post: str = ""
    """Id of a stored post."""
    user: str = ""
    """Key of an account on the service."""
    owner: str = ""
    told: Mapping[str, Any] | None = None


class PageItems:
    """A page as those see it who look for results."""

    def __init__(self, page: Page, saved: Saved, tasks: Sequence[Task]) -> None:
        self.page = page
        self.tasks = tasks
        self._by_target = {task.target: task for task in tasks}
        self._lone = tasks[0].target if len(tasks) == 1 else None
        self.ids = {post.key: post.id for post in saved.posts}
        self._shy = {name for user in page.users if user.opts_out for name in (user.key, user.id)}

    def target(self, key: str) -> str:
        """Whose question an item with this key answers; empty where a batch does not tell."""
        return key if key in self._by_target else self._lone or ""

    def listed(self) -> Iterator[Post]:
        """The posts that were listed themselves and are kept: not of those who asked to be left alone."""
        for post in self.page.posts:
            if post.id not in self.page.along and post.key in self.ids and post.author not in self._shy:
                yield post

    def is_shy(self, key: str) -> bool:
        return key in self._shy

    def left_out(self, wanted: Wanted, what: What) -> Counter[str]:
        """How many of the items that the page lists are no results, by the reason."""
        page, counts = self.page, Counter[str]()
        listed = [post for post in page.posts if post.id not in page.along]
        if what is What.POSTS and (self._shy or wanted.is_narrow):
            counts.update(SHY if post.author in self._shy else wanted.refuses(post) for post in listed)
        elif what is What.USERS and self._shy:
            counts[SHY] += sum(key in self._shy for key in asked_about(self.tasks, page))
        elif self._shy:
            ends = [end for each in page.relations for end in (each.source, each.target)]
            named = {*ends, *(each.user for each in page.reactions), *(post.author for post in listed)}
            counts[SHY] += len(self._shy & (named - self._by_target.keys()))
        del counts[""]
        return +counts

    def meanings(self, network: str) -> Iterator[tuple[str, str]]:
        """Keys, and the targets that led to them: the accounts that handles name, the posts that opened conversations."""
        for key, task in asked_about(self.tasks, self.page).items():
            yield key, task.target
        for post in self.listed():
            if target := self.target(post.key):
                yield post.key, target
                yield (key_in(network, post.root) or "" if post.root else ""), target


def results(items: PageItems, what: What, wanted: Wanted, side: Side | None) -> Iterable[Found]:
    """The items of a page that answer its questions, in the order of the page."""
    return _side(items, side) if what is What.FOLLOWS else _FINDERS[what](items, wanted)


def _posts(items: PageItems, wanted: Wanted) -> Iterator[Found]:
    for post in items.listed():
        if not wanted.is_narrow or not wanted.refuses(post):
            id_ = items.ids[post.key]
            yield Found(items.target(post.key), id_, post=id_)


def _users(items: PageItems, wanted: Wanted) -> Iterator[Found]:
    for key, task in asked_about(items.tasks, items.page).items():
        if not items.is_shy(key):
            yield Found(task.target, key, user=key)


def _side(items: PageItems, side: Side | None) -> Iterator[Found]:
    for each in items.page.relations:
        other, owner = _ends(each, side)
        if not items.is_shy(other):
            yield Found(items.target(owner), other, user=other, owner=owner)


def _ends(relation: Relation, side: Side | None) -> tuple[str, str]:
    is_following = side is Side.FOLLOWING
    return (relation.target, relation.source) if is_following else (relation.source, relation.target)


def _reposts(items: PageItems, wanted: Wanted) -> Iterator[Found]:
    for each in items.page.reactions:
        if each.kind is ReactionKind.REPOST and not items.is_shy(each.user):
            yield Found(items.target(each.post), each.user, user=each.user, told={"at": each.at})
    keys = {user.id: user.key for user in items.page.users}
    for post in items.listed():
        if not wanted.refuses(post) and (user := keys.get(post.author)):
            told = {"at": post.created_at, "repost": items.ids[post.key]}
            yield Found(items.target(post.key), items.ids[post.key], user=user, told=told)


def _trends(items: PageItems, wanted: Wanted) -> Iterator[Found]:
    for each in items.page.trends:
        told = {"rank": each.rank, "word": each.word, "volume": each.volume, "place": each.place or None}
        yield Found(items.target(""), f"{each.rank} {each.word}", told=told)


def _volumes(items: PageItems, wanted: Wanted) -> Iterator[Found]:
    for each in items.page.volumes:
        told = {"query": each.query, "begins_at": each.begins_at, "ends_at": each.ends_at, "posts": each.posts}
        yield Found(items.target(each.query), each.begins_at.isoformat(), told=told)


_FINDERS: Mapping[What, Callable[[PageItems, Wanted], Iterator[Found]]] = {
    What.POSTS: _posts,
    What.USERS: _users,
    What.REPOSTS: _reposts,
    What.TRENDS: _trends,
    What.VOLUMES: _volumes,
}
