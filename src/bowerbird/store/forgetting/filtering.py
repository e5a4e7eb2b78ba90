"""A page without those who were forgotten: nothing of them reaches the store, nor do others bring back their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bowerbird.model import Broken, Gone, Page, Post, Subject, Task, User, Version
from bowerbird.store.forgetting.names import Kind, key_names, meanings, post_name, post_names, user_name, user_names
from bowerbird.store.forgetting.tombstones import FORGOTTEN, Tombstones
from bowerbird.store.people.names import has_local_keys, id_for

T = TypeVar("T")
Item = TypeVar("Item", Post, User)
REFERENCES = ("reply_to", "repost_of", "quote_of", "root", "via", "edit_of")
"""Columns and fields that name another post by its id."""
_NO_COPY = {"text": None, "warning": None, "poll": None, "links": (), "tags": (), "cashtags": (), "mentions": (), "media": ()}


class Filter(Struct, frozen=True):
    """Looks pages of one service over."""

    tombstones: Tombstones
    network: str
    service: str

    def tasks(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Those of the tasks that do not ask about the forgotten."""
        return [task for task in tasks if not self.is_target(task.target)]

    def is_target(self, target: str) -> bool:
        """Whether a target is, or names, somebody or something forgotten."""
        return self.tombstones.named_in(target, Kind.LINE, self.network, self.service)

    def learned(self, page: Page) -> set[str]:
        """The names by which the forgotten of a page are not known yet: they are kept out by these too from now on."""
        gone = [user for user in page.users if self.tombstones.holds_any(self._user_names(user))]
        names = {name for user in gone for name in self._user_names(user)}
        names |= self._learned_posts([post for post in page.posts if post.author in {user.id for user in gone}])
        return {name for name in names if not self.tombstones.holds(name)}

    def page(self, page: Page) -> Page:
        """The page without the forgotten."""
        gone = [user for user in page.users if self.tombstones.holds_any(self._user_names(user))]
        people, keys = {user.id for user in gone}, {user.key for user in gone}
        people |= {post.author for post in page.posts if self.tombstones.holds(user_name(post.author))}
        dead = [post for post in page.posts if post.author in people or self._is_post(post.id, post.key)]
        look = _Look(self, frozenset(people), frozenset(keys), frozenset(each for p in dead for each in (p.id, p.key)))
        return look.page(page)

    def _user_names(self, user: User) -> set[str]:
        return user_names(self.network, user.id, user.handle, user.url) | {key_names(self.network, self.service, user.key)[0]}

    def _is_post(self, known_id: str, key: str) -> bool:
        # Where ids name authors, somebody who was forgotten is in all of theirs.
        return self.names_one(known_id) or self.tombstones.holds(key_names(self.network, self.service, key)[1])

    def names_one(self, known_id: str) -> bool:
        """Whether the id of a post is that of a forgotten one, or names a forgotten author."""
        return self.tombstones.holds_any((post_name(known_id), *meanings(known_id, Kind.TEXT, self.network, ())))

    def _learned_posts(self, posts: Iterable[Post]) -> set[str]:
        """Others refer to posts by their ids, which do not tell on every network whose they are."""
        unnamed = [post for post in posts if not self.names_one(post.id)]
        names = {name for post in unnamed for name in post_names(post.id, post.url)}
        local = posts if has_local_keys(self.network) else ()
        return names | {key_names(self.network, self.service, post.key)[1] for post in local}

    def is_user_key(self, key: str) -> bool:
        return self.tombstones.holds(user_name(id_for(self.network, self.service, key)))

    def is_post_key(self, key: str) -> bool:
        return self._is_post(id_for(self.network, self.service, key), key)


class _Look(Struct, frozen=True):
    """One page being looked over: whom of it nobody may see, and which posts."""

    by: Filter
    people: frozenset[str]
    keys: frozenset[str]
    posts: frozenset[str]

    def page(self, page: Page) -> Page:
        posts = tuple(self._post(post) for post in page.posts if post.id not in self.posts)
        broken = tuple(self._broken(each) for each in page.broken)
        return msgspec.structs.replace(
            page,
            users=tuple(self._user(user) for user in page.users if user.id not in self.people),
            posts=posts,
            along=page.along - self.posts,
            relations=self._without(page.relations, ("source", "target")),
            ended=self._without(page.ended, ("source", "target")),
            reactions=tuple(each for each in self._without(page.reactions, ("user",)) if not self._is_post(each.post)),
            user_tags=self._without(page.user_tags, ("user",)),
            lists=self._without(page.lists, ("owner",)),
            members=self._without(page.members, ("user",)),
            versions=tuple(self._version(each) for each in page.versions if not self._is_post(each.post)),
            gone=tuple(each for each in page.gone if not self._is_gone(each)),
            withdrawn_places=self._without(page.withdrawn_places, ("user",)),
            broken=broken,
            billed=tuple(self._billed(each) for each in page.billed),
            about=None if page.about is not None and self._is_user(page.about) else page.about,
            detail=self.by.tombstones.redacted(page.detail, Kind.LINE, self.by.network) if page.detail else "",
        )

    def _is_user(self, key: str) -> bool:
        return key in self.keys or key in self.people or self.by.is_user_key(key)

    def _is_post(self, key: str) -> bool:
        return key in self.posts or self.by.is_post_key(key)

    def _without(self, items: tuple[T, ...], ends: Collection[str]) -> tuple[T, ...]:
        return tuple(each for each in items if not any((key := getattr(each, end)) and self._is_user(key) for end in ends))

    def _is_gone(self, gone: Gone) -> bool:
        return self._is_user(gone.key) if gone.subject is Subject.USER else self._is_post(gone.key)

    def _post(self, post: Post) -> Post:
        changed: dict[str, Any] = {name: None for name in REFERENCES if self._refers(getattr(post, name))}
        if "repost_of" in changed:
            # What it shows is a copy.
            changed |= _NO_COPY
            post = msgspec.structs.replace(post, **changed)
        mentions = tuple(key for key in post.mentions if not self._is_user(key))
        is_mention = mentions != post.mentions
        if is_mention:
            changed["mentions"] = mentions
        changed |= self._words(post, ("text", "warning"), is_mention=is_mention)
        if links := tuple(each for each in post.links if self._is_named(each)):
            changed["links"] = tuple(each for each in post.links if each not in links)
        return self._bare(post, changed)

    def _user(self, user: User) -> User:
        return self._bare(user, self._words(user, ("name", "description", "location", "url")))

    def _version(self, version: Version) -> Version:
        changed = self._words(version, ("text", "warning"))
        return msgspec.structs.replace(version, **changed) if changed else version

    def _bare(self, item: Item, changed: dict[str, Any]) -> Item:
        """The item as it may be kept: its payload goes when it names one of them anywhere."""
        if item.raw and (changed or self._is_payload(item.raw)):
            changed["raw"] = b""
        return msgspec.structs.replace(item, **changed) if changed else item

    def _words(self, item: Any, fields: Iterable[str], *, is_mention: bool = False) -> dict[str, Any]:
        written = {name: getattr(item, name) for name in fields if getattr(item, name)}
        read = {name: self._redacted(text, is_mention=is_mention) for name, text in written.items()}
        return {name: text for name, text in read.items() if text != written[name]}

    def _redacted(self, text: str, *, is_mention: bool) -> str:
        return self.by.tombstones.redacted(text, Kind.TEXT, self.by.network, is_mention=is_mention)

    def _refers(self, known_id: str | None) -> bool:
        return known_id is not None and (known_id in self.posts or self.by.names_one(known_id))

    def _is_named(self, text: str) -> bool:
        return self.by.tombstones.named_in(text, Kind.TEXT, self.by.network)

    def _is_payload(self, raw: bytes) -> bool:
        text = raw.decode(errors="replace").replace("\\/", "/")
        return self.by.tombstones.named_in(text, Kind.PAYLOAD, self.by.network)

    def _broken(self, broken: Broken) -> Broken:
        if not self._is_payload(broken.raw):
            return broken
        return Broken(broken.subject, b"", FORGOTTEN, broken.is_part)

    def _billed(self, item: str) -> str:
        is_one = self.by.tombstones.named_in(item, Kind.LINE, self.by.network)
        return self.by.tombstones.mark(item) if is_one else item
