"""A thread's tree as posts: what stands above and below the post asked about, without the holes."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Outcome, Page, Subject
from bowerbird.providers.bluesky.reading.gather import BlueskyGathering
from bowerbird.providers.items import UNREADABLE, Reader, is_there, to_json, tree


class _Answer(Struct):
    thread: Raw


class _Node(Struct, rename="camel"):
    post: Raw = Raw(b"")
    parent: Raw = Raw(b"")
    replies: list[Raw] | None = None
    not_found: bool | None = None
    blocked: bool | None = None


_answers = msgspec.json.Decoder(_Answer)
_nodes = Reader(_Node)


def thread(found: BlueskyGathering) -> Page:
    """Every post of the tree; what the service hides or has lost is left out."""
    try:
        root = bytes(_answers.decode(found.answer.body).thread)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return _slowly(found)
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
            found.quarantine_listed(Subject.POST, raw, error)
            continue
        if is_there(node.post):
            posts.append(bytes(node.post))
        waiting += [bytes(each) for each in (node.parent, *(node.replies or ())) if is_there(each)]
    found.read_listed(posts)
    return found.page(results=len(posts))


def _slowly(found: BlueskyGathering) -> Page:
    """A thread with text that is no Unicode: the tree is read once and taken apart, for every step down would read it again."""
    answer = tree(found.answer.body)
    waiting, posts = [answer.get("thread") if isinstance(answer, dict) else None], []
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            posts += [to_json(node["post"])] if node.get("post") else []
            replies = node.get("replies")
            waiting += [node.get("parent"), *(replies if isinstance(replies, list) else ())]
    if not posts:
        raise ValueError("a thread without a post")
    found.read_listed(posts)
    return found.page(results=len(posts))


def _hidden(found: BlueskyGathering, reason: Outcome) -> Page:
    found.mark_gone(Subject.POST, found.ask.targets[0], reason)
    return msgspec.structs.replace(found.page(results=0), outcome=reason, detail=reason.value)
