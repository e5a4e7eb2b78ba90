"""How each `take` of an edge finds its targets in a page. Targets are keys: what the service asked calls the thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from bowerbird.crawl.seeding.facts import Found, PageView
from bowerbird.model import NETWORKS, TRAITS, KeyForm, Post, PostKind, ReactionKind, Relation, Subject, Task, tag_form

_PREFIXES = tuple(f"{network}:" for network in NETWORKS)


_GLOBAL_KEYS = tuple(mark for each in TRAITS.values() if each.network.keys is KeyForm.SAME for mark in each.shortcuts.marks)


def _key_in(name: str) -> str | None:
    """The key inside an id: `x:12` is `12` on every service of X, a DID is a key everywhere; other ids do not contain theirs."""
    if name.startswith(_GLOBAL_KEYS):
        return name
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), None)
    return name.removeprefix(prefix) if prefix else None


def _asked(view: PageView) -> Iterator[Found]:
    for user in view.page.users:
        task = view.task_about(user)
        if task is not None:
            yield Found(user.key, user, None, task)


def _users(view: PageView) -> Iterator[Found]:
    return (Found(user.key, user) for user in view.page.users)


def _missing(view: PageView) -> Iterator[Found]:
    for gone in view.page.gone:
        if gone.is_vague and gone.subject is Subject.USER:
            yield Found(gone.key, origin=view.asked.get(gone.key))


def _authors(view: PageView) -> Iterator[Found]:
    for post in view.page.posts:
        user = view.users_by_id.get(post.author)
        key = user.key if user else _key_in(post.author)
        if key:
            yield Found(key, user, post, view.asked.get(post.key))


def _mentions(view: PageView) -> Iterator[Found]:
    for post in view.page.posts:
        origin = view.asked.get(post.key)
        for key in post.mentions:
            yield Found(key, view.users.get(key), post, origin)


def _posts(view: PageView) -> Iterator[Found]:
    return (Found(post.key, None, post, view.asked.get(post.key)) for post in view.page.posts)


def _own_posts(view: PageView) -> Iterator[Found]:
    for post in view.page.posts:
        author = view.users_by_id.get(post.author)
        origin = view.asked.get(post.key) or (view.task_about(author) if author else None)
        if origin is not None:
            yield Found(post.key, None, post, origin)


def _linked(name: str) -> Callable[[PageView], Iterator[Found]]:
    def find(view: PageView) -> Iterator[Found]:
        for post in view.page.posts:
            linked: str | None = getattr(post, name)
            other = view.posts_by_id.get(linked) if linked else None
            key = other.key if other else _key_in(linked) if linked else None
            if key:
                yield Found(key, None, other or _stranger(post, key), view.asked.get(post.key))

    return find


def _roots(view: PageView) -> Iterator[Found]:
    for found in _own_posts(view):
        root = found.post.root if found.post is not None else None
        key = _key_in(root) if root else found.key
        if key:
            yield Found(key, None, found.post, found.origin)


def _quotes(view: PageView) -> Iterator[Found]:
    asked = {post.id for post in view.page.posts if post.key in view.asked}
    for post in view.page.posts:
        if post.kind is PostKind.QUOTE and post.key not in view.asked and (not asked or post.quote_of in asked):
            yield Found(post.key, None, post)


def _reposters(view: PageView) -> Iterator[Found]:
    for reaction in view.page.reactions:
        if reaction.kind is ReactionKind.REPOST:
            yield Found(reaction.user, view.users.get(reaction.user), None, view.asked.get(reaction.post))
    for post in view.page.posts:
        user = view.users_by_id.get(post.author) if post.kind is PostKind.REPOST else None
        if user is not None:
            yield Found(user.key, user)


def _stranger(post: Post, key: str) -> Post:
    """A post known only by name: it has the words of the one that named it, but neither its author nor its counters."""
    return Post(id=key, key=key, author="", text=post.text, language=post.language, tags=post.tags)


def _tags(view: PageView) -> Iterator[Found]:
    for post in view.page.posts:
        origin = view.asked.get(post.key)
        for tag in post.tags:
            yield Found(tag_form(tag), None, post, origin)


def _lists(view: PageView) -> Iterator[Found]:
    return (Found(each.key, view.users.get(each.owner or "")) for each in view.page.lists)


def _ends(name: str) -> Callable[[PageView], Iterator[Found]]:
    def find(view: PageView) -> Iterator[Found]:
        users = view.users
        for relation in view.page.relations:
            key: str = getattr(relation, name)
            yield Found(key, users.get(key), None, _origin(view, relation))

    return find


def _neighbours(view: PageView) -> Iterator[Found]:
    users, asked = view.users, view.asked
    for relation in view.page.relations:
        is_out = relation.source in asked
        key = relation.target if is_out else relation.source
        if key != (relation.source if is_out else relation.target):
            yield Found(key, users.get(key), None, _origin(view, relation))


def _owners(view: PageView) -> Iterator[Found]:
    for task in view.tasks:
        if not task.target.startswith("@"):
            yield Found(task.target, view.users.get(task.target), None, task)


def _origin(view: PageView, relation: Relation) -> Task | None:
    return view.asked.get(relation.source) or view.asked.get(relation.target)


FINDERS: Mapping[str, Callable[[PageView], Iterable[Found]]] = {
    "asked": _asked,
    "users": _users,
    "missing": _missing,
    "authors": _authors,
    "mentions": _mentions,
    "sources": _ends("source"),
    "targets": _ends("target"),
    "neighbours": _neighbours,
    "owners": _owners,
    "posts": _posts,
    "own_posts": _own_posts,
    "reposted": _linked("repost_of"),
    "replied": _linked("reply_to"),
    "roots": _roots,
    "quoted": _linked("quote_of"),
    "quotes": _quotes,
    "reposters": _reposters,
    "tags": _tags,
    "lists": _lists,
}
