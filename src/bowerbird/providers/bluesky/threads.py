"""A thread's tree as posts: what stands above and below the post asked about, without the holes."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Outcome, Page, Subject
from bowerbird.providers.bluesky.gather import BlueskyGathering
from bowerbird.providers.items import UNREADABLE, Reader, is_there


class _Answer(Struct):
    thread: Raw


class _Node(Struct, rename="camel"):
    post: Raw = Raw(b"")
    parent: Raw = Raw(b"")
    replies: list[Raw] | None = None
    not_found: bool | None = None
    blocked: bool | None = None


_answers = Reader(_Answer)
_nodes = Reader(_Node)


def thread(found: BlueskyGathering) -> Page:
    """Every post of the tree; what the service hides or has lost is left out."""
    root = bytes(_answers.read(found.answer.body).thread)
    first = _nodes.read(root)
    if first.not_found or first.blocked:
        return _hidden(found, Outcome.NOT_FOUND if first.not_found else Outcome.BLOCKED)
    if not is_there(first.post):
        raise ValueError("a thread without a post")
    posts: list[bytes] = []
    waiting = [root]
    while waiting:
        raw = waiting.pop()
        try:
            node = _nodes.read(raw)
        except UNREADABLE as error:
            found.lose(Subject.POST, raw, error)
            continue
        if is_there(node.post):
            posts.append(bytes(node.post))
        waiting += [bytes(each) for each in (node.parent, *(node.replies or ())) if is_there(each)]
    found.posts(posts)
    return found.page(results=len(posts))


def _hidden(found: BlueskyGathering, reason: Outcome) -> Page:
    found.harvest.lose(Subject.POST, found.ask.targets[0], reason)
    return msgspec.structs.replace(found.page(results=0), outcome=reason, detail=reason.value)
