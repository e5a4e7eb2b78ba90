"""Bluesky's answers as pages. Pure, and never raises: what cannot be read is an outcome or quarantined."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Answer, Ask, Facet, Gone, Outcome, Page, Reaction, ReactionKind, Subject, Trend, User
from bowerbird.providers import headers
from bowerbird.providers.bluesky.reading.exports import follows, records, repo
from bowerbird.providers.bluesky.reading.gather import BlueskyGathering
from bowerbird.providers.bluesky.reading.lists import lists, members
from bowerbird.providers.bluesky.reading.outcomes import STATUSES, outcome, said
from bowerbird.providers.bluesky.reading.pages import Listing, listing, onward
from bowerbird.providers.bluesky.reading.threads import thread
from bowerbird.providers.bluesky.syntax import is_did
from bowerbird.providers.items import UNREADABLE, Reader, an_object, count
from bowerbird.providers.page import CLOCK_TOLERANCE, read_page
from bowerbird.providers.text import iso


class _Like(Struct, rename="camel"):
    actor: Raw
    indexed_at: str | None = None
    created_at: str | None = None


class _Status(Struct):
    did: str
    active: bool | None = None
    status: str | None = None


class _Trend(Struct, rename="camel"):
    topic: str
    display_name: str | None = None
    post_count: int | None = None
    actors: list[Raw] = []


_like_items = Reader(_Like)
_statuses = Reader(_Status)
_trends = Reader(_Trend)


def parse(ask: Ask, facet: Facet, answer: Answer) -> Page:
    """One answer, understood."""
    limit = said(answer)
    ended, detail = outcome(answer)
    if ended is Outcome.OK:
        return read_page(BlueskyGathering(ask, facet, answer), _READERS[facet.name], limit)
    page = _refused(ask, facet, ended, detail)
    return msgspec.structs.replace(page, reading=limit, retry_after=headers.retry_after(answer))


def _refused(ask: Ask, facet: Facet, ended: Outcome, detail: str) -> Page:
    """An answer about the target makes it gone; about a batch it says only that something in it is wrong."""
    if not ended.is_about_target:
        return Page(outcome=ended, detail=detail)
    if len(ask.targets) > 1:
        return Page(outcome=Outcome.BAD_REQUEST, detail=detail)
    gone = () if facet.subject is Subject.WORD else (Gone(facet.subject, ask.targets[0], ended),)
    return Page(outcome=ended, gone=gone, detail=detail)


def _profiles(found: BlueskyGathering) -> Page:
    items = listing(found.answer.body, "profiles").items
    users = found.read_users(items)
    keys = {user.key for user in users} | {f"@{(user.handle or '').casefold()}" for user in users}
    return _batch(found, keys, len(items))


def _posts(found: BlueskyGathering) -> Page:
    items = listing(found.answer.body, "posts").items
    return _batch(found, set(found.read_listed(items)), len(items))


def _batch(found: BlueskyGathering, keys: set[str], results: int) -> Page:
    found.mark_missing(keys)
    return found.page(results=results)


def _profile(found: BlueskyGathering) -> Page:
    found.read_users([an_object(found.answer.body)])
    if not found.is_sure:
        raise ValueError("a profile without a DID")
    return found.page(results=1)


def _relations(name: str) -> Callable[[BlueskyGathering], Page]:
    def read(found: BlueskyGathering) -> Page:
        page = listing(found.answer.body, name)
        if page.subject:
            _come_along(found, page.subject)
        keys = [user.key for user in found.read_users(page.items)]
        cursor, detail = _next(found, page)
        edges = found.relations((*keys, *sorted(filter(is_did, found.lost_keys))))
        return msgspec.structs.replace(found.page(results=len(page.items), cursor=cursor, detail=detail), relations=edges)

    return read


def _come_along(found: BlueskyGathering, raw: bytes) -> None:
    """An account that the answer shows beside what was asked for."""
    try:
        found.read_user(raw)
    except UNREADABLE as error:
        found.quarantine(Subject.USER, raw, error)


def _people(found: BlueskyGathering) -> Page:
    page = listing(found.answer.body, "actors")
    found.read_users(page.items)
    cursor, detail = _next(found, page)
    return found.page(results=len(page.items), cursor=cursor, detail=detail)


def _reposts(found: BlueskyGathering) -> Page:
    """Who passed the post on; the list tells no times."""
    page = listing(found.answer.body, "repostedBy")
    keys = [user.key for user in found.read_users(page.items)]
    return _reacted(found, page, found.reactions(ReactionKind.REPOST, keys))


def _likes(found: BlueskyGathering) -> Page:
    page, target = listing(found.answer.body, "likes"), found.ask.targets[0]
    liked: list[Reaction] = []
    for raw in page.items:
        try:
            like = _like_items.read(raw)
            user = found.read_user(bytes(like.actor))
            liked.append(Reaction(ReactionKind.LIKE, target, user.key, iso(like.indexed_at) or iso(like.created_at)))
        except UNREADABLE as error:
            found.quarantine_listed(Subject.USER, raw, error)
    return _reacted(found, page, tuple(liked))


def _reacted(found: BlueskyGathering, page: Listing, reactions: tuple[Reaction, ...]) -> Page:
    cursor, detail = _next(found, page)
    whole = found.page(results=len(page.items), cursor=cursor, detail=detail)
    return msgspec.structs.replace(whole, reactions=reactions)


def _timeline(found: BlueskyGathering) -> Page:
    page = listing(found.answer.body, "feed")
    return _newest_first(found, page, found.feed(page.items))


def _search(found: BlueskyGathering) -> Page:
    page = listing(found.answer.body, "posts")
    times = [when for when in found.read_listed(page.items).values() if when is not None]
    return _newest_first(found, page, times)


def _newest_first(found: BlueskyGathering, page: Listing, times: list[datetime]) -> Page:
    """A page of a listing from new to old, which a revisit follows only down to what it knows."""
    cursor, detail = _next(found, page)
    is_sorted = found.ask.hints.get("sort", "latest") == "latest"
    if is_sorted and any(found.is_old(when) for when in times):
        cursor = None
    come = [when for when in times if when <= found.answer.received_at + CLOCK_TOLERANCE]
    head = _stamp(max(come)) if come and found.ask.progress.cursor is None else None
    return found.page(results=len(page.items), cursor=cursor, head=head, detail=detail)


def _stamp(when: datetime) -> str:
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quotes(found: BlueskyGathering) -> Page:
    page = listing(found.answer.body, "posts")
    found.read_listed(page.items)
    cursor, detail = _next(found, page)
    return found.page(results=len(page.items), cursor=cursor, detail=detail)


def _next(found: BlueskyGathering, page: Listing) -> tuple[str | None, str]:
    return onward(found.ask.progress.cursor, page)


def _status(found: BlueskyGathering) -> Page:
    raw = an_object(found.answer.body)
    status = _statuses.read(raw)
    if status.did != found.ask.targets[0]:
        raise ValueError("the status of another account")
    reason = None if status.active is not False else STATUSES.get(status.status or "")
    if reason is not None:
        found.mark_gone(Subject.USER, status.did, reason, is_stated=True)
        return msgspec.structs.replace(found.page(results=1), outcome=reason, detail=status.status or "")
    found.add_user(User(id=status.did, key=status.did))
    return found.page(results=1, detail=status.status or "")


def _repos(found: BlueskyGathering) -> Page:
    page = listing(found.answer.body, "repos")
    for raw in page.items:
        try:
            status = _statuses.read(raw)
            if not is_did(status.did):
                raise ValueError("a repository without a DID")
            reason = STATUSES.get(status.status or "") if status.active is False else None
            if reason is not None:
                found.mark_gone(Subject.USER, status.did, reason, is_stated=True)
            else:
                found.add_user(User(id=status.did, key=status.did))
        except UNREADABLE as error:
            found.quarantine_listed(Subject.USER, raw, error)
    cursor, detail = _next(found, page)
    return found.page(results=len(page.items), cursor=cursor, detail=detail)


def _trending(found: BlueskyGathering) -> Page:
    items = listing(found.answer.body, "trends").items
    trends: list[Trend] = []
    for rank, raw in enumerate(items, 1):
        try:
            trend = _trends.read(raw)
            trends.append(Trend(trend.display_name or trend.topic, rank, volume=count(trend.post_count)))
            found.read_users(bytes(actor) for actor in trend.actors)
        except UNREADABLE as error:
            found.quarantine(Subject.WORD, raw, error)
    return msgspec.structs.replace(found.page(results=len(items)), trends=tuple(trends))


_READERS: dict[str, Callable[[BlueskyGathering], Page]] = {
    "profiles": _profiles,
    "profile": _profile,
    "followers": _relations("followers"),
    "following": _relations("follows"),
    "following_records": follows,
    "timeline": _timeline,
    "records": records,
    "repo": repo,
    "status": _status,
    "lists": lists,
    "posts": _posts,
    "thread": thread,
    "reposts": _reposts,
    "quotes": _quotes,
    "likes": _likes,
    "search": _search,
    "hashtag": _search,
    "people": _people,
    "members": members,
    "trends": _trending,
    "repos": _repos,
}
