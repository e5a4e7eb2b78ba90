"""A Mastodon server's answers as pages. Pure, and never raises: what cannot be read is an outcome or quarantined."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Answer, Ask, Facet, Flavour, Gone, Outcome, Page, ReactionKind, Service, Subject
from bowerbird.providers.common.asking.paths import page_size
from bowerbird.providers.common.reading import headers
from bowerbird.providers.common.reading.gathering import REPEATED, read_page
from bowerbird.providers.common.reading.items import Reader, an_object, listed
from bowerbird.providers.common.snowflakes import is_number, oldest, order
from bowerbird.providers.mastodon.reading.gather import MastodonGathering
from bowerbird.providers.mastodon.reading.hashtags import trends_of, user_tags_of
from bowerbird.providers.mastodon.reading.outcomes import is_missing_route, names_absence, outcome, perhaps
from bowerbird.providers.mastodon.reading.versions import versions_of
from bowerbird.providers.mastodon.requests import ALONE, route


class _Context(Struct):
    ancestors: list[Raw]
    descendants: list[Raw]


class _StatusesFound(Struct):
    statuses: list[Raw]


class _AccountsFound(Struct):
    accounts: list[Raw]


_ABOUT_ALL = frozenset({"public", "directory", "trending", "trends", "search", "people"})
"""Facets that name no object of the server: neither a post nor a hashtag nor a page."""
_contexts = Reader(_Context)
_statuses_found = Reader(_StatusesFound)
_accounts_found = Reader(_AccountsFound)


def parse(ask: Ask, facet: Facet, answer: Answer, service: Service, flavour: Flavour) -> Page:
    """One answer, understood."""
    ended, detail = outcome(answer)
    said = headers.reading(answer.headers, "x-ratelimit")
    asked = route(ask, facet)
    if ended is Outcome.OK:
        return read_page(MastodonGathering(ask, facet, answer, service, flavour), _READERS[asked], said)
    if _is_missing_route(ended, asked, facet, answer, flavour):
        ended = Outcome.NOT_OFFERED
    elif ended.is_about_target and _is_unnamed(ask, asked, answer, flavour):
        ended = Outcome.UNREADABLE
    gone = _all_gone(ask, facet, ended) if ended.is_about_target and len(ask.targets) == 1 else ()
    wait = headers.retry_after(answer)
    return Page(outcome=ended, gone=gone, reading=said, retry_after=wait, detail=detail, perhaps=_perhaps(ended, facet, answer))


def _is_missing_route(ended: Outcome, asked: str, facet: Facet, answer: Answer, flavour: Flavour) -> bool:
    """Whether a 404 is about the route and not about what was asked for."""
    if answer.status != 404 or ended is Outcome.NOT_OFFERED:
        return False
    if asked in ALONE:
        # A batch leaves out what is missing: it has no other 404 than this.
        return True
    if ended is Outcome.UNREADABLE or asked in ALONE.values():
        return False
    # Where no object is named none can be missing; Mastodon's own words tell the rest apart.
    return facet.name in _ABOUT_ALL or (flavour.software == "mastodon" and is_missing_route(answer))


def _is_unnamed(ask: Ask, asked: str, answer: Answer, flavour: Flavour) -> bool:
    """Whether the own route of an object has no answer in words that speak of it: to believe that would cost its content."""
    is_own = asked in ALONE.values() and not ask.targets[0].startswith("@")
    return is_own and answer.status in (404, 410) and not names_absence(answer, flavour.software)


def _perhaps(ended: Outcome, facet: Facet, answer: Answer) -> Outcome | None:
    if ended is not Outcome.UNREADABLE:
        return None
    found = perhaps(answer)
    return Outcome.NOT_OFFERED if found is not None and facet.name in _ABOUT_ALL else found


def _all_gone(ask: Ask, facet: Facet, reason: Outcome) -> tuple[Gone, ...]:
    return () if facet.subject is Subject.WORD else tuple(Gone(facet.subject, key, reason) for key in ask.targets)


def _profiles(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    return _batch(found, {user.key for user in found.users(raws)}, len(raws))


def _posts(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    return _batch(found, {status.id for status in found.posts(raws)}, len(raws))


def _batch(found: MastodonGathering, keys: set[str], results: int) -> Page:
    found.lose_missing(keys)
    return found.page(results=results)


def _profile(found: MastodonGathering) -> Page:
    found.users([an_object(found.answer.body)])
    return _single(found)


def _post(found: MastodonGathering) -> Page:
    found.posts([an_object(found.answer.body)])
    return _single(found)


def _single(found: MastodonGathering) -> Page:
    """The page of a single object; one without so much as an id is not an item at all."""
    if not found.is_sure:
        raise ValueError("an object without an id")
    page = found.page(results=1)
    asked = [gone for gone in page.gone if gone.subject is found.facet.subject]
    return msgspec.structs.replace(page, outcome=asked[0].reason, detail=asked[0].reason.value) if asked else page


def _relations(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    keys = [user.key for user in found.users(raws)]
    cursor, detail = _linked(found)
    page = found.page(results=len(raws), cursor=cursor, detail=detail)
    return msgspec.structs.replace(page, relations=found.edges((*keys, *sorted(found.lost_keys))))


def _reactions(kind: ReactionKind) -> Callable[[MastodonGathering], Page]:
    def read(found: MastodonGathering) -> Page:
        raws = listed(found.answer.body)
        keys = [user.key for user in found.users(raws)]
        cursor, detail = _linked(found)
        page = found.page(results=len(raws), cursor=cursor, detail=detail)
        return msgspec.structs.replace(page, reactions=found.reactions(kind, keys))

    return read


def _linked(found: MastodonGathering) -> tuple[str | None, str]:
    """The next position as the `Link` header gives it: such positions are internal ids and never computed.

    An empty page with a next one is no end: some servers cut pages first and leave out then what is not public.
    """
    cursor = headers.next_position(found.answer.headers, "max_id")
    if cursor is not None and cursor == found.ask.progress.cursor:
        return None, REPEATED
    return cursor, ""


def _timeline(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    keys = [status.id for status in found.posts(raws)]
    cursor, detail = _older(found, keys, len(raws))
    return found.page(results=len(raws), cursor=cursor, head=_head(found, keys), detail=detail)


def _head(found: MastodonGathering, keys: list[str]) -> str | None:
    """The newest post of a first page, quarantined ones included, or they would come again with every visit."""
    if found.ask.progress.cursor is not None:
        return None
    return found.newest((*keys, *(key for key in found.lost_keys if is_number(key))))


def _older(found: MastodonGathering, keys: list[str], results: int) -> tuple[str | None, str]:
    """The position of the next older page; None when the known posts are reached or the list has ended."""
    before, known = found.ask.progress.cursor, found.ask.progress.newest
    if known is not None and any(order(key) <= order(known) for key in keys):
        return None, ""
    cursor = headers.next_position(found.answer.headers, "max_id")
    if cursor is None and "link" not in found.answer.headers and results >= page_size(found.ask, found.facet):
        # Some compatible servers send no Link header; for posts the oldest id of a full page says the same.
        cursor = oldest(keys)
    if cursor is not None and before is not None and order(cursor) >= order(before):
        return None, REPEATED
    if cursor is not None and known is not None and order(cursor) <= order(known):
        # Some servers take no `since_id`: what lies before is known, whether the page shows any of it or not.
        return None, ""
    return cursor, ""


def _quotes(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    found.posts(raws)
    cursor, detail = _linked(found)
    return found.page(results=len(raws), cursor=cursor, detail=detail)


def _thread(found: MastodonGathering) -> Page:
    context = _contexts.read(found.answer.body)
    raws = [bytes(raw) for raw in (*context.ancestors, *context.descendants)]
    found.posts(raws)
    refresh = "the server is still fetching replies" if "mastodon-async-refresh" in found.answer.headers else ""
    return found.page(results=len(raws), detail=refresh)


def _search(found: MastodonGathering) -> Page:
    raws = [bytes(raw) for raw in _statuses_found.read(found.answer.body).statuses]
    keys = [status.id for status in found.posts(raws)]
    return found.page(results=len(raws), cursor=_offset(found, len(raws)), head=_head(found, keys))


def _people_found(found: MastodonGathering) -> Page:
    raws = [bytes(raw) for raw in _accounts_found.read(found.answer.body).accounts]
    found.users(raws)
    return found.page(results=len(raws), cursor=_offset(found, len(raws)))


def _directory(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    found.users(raws)
    return found.page(results=len(raws), cursor=_offset(found, len(raws)))


def _trending(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    found.posts(raws)
    return found.page(results=len(raws), cursor=_offset(found, len(raws)))


def _trends(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    trends = trends_of(found, raws)
    return msgspec.structs.replace(found.page(results=len(raws)), trends=trends)


def _tags(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    tags = user_tags_of(found, raws)
    return msgspec.structs.replace(found.page(results=len(raws)), user_tags=tags)


def _versions(found: MastodonGathering) -> Page:
    raws = listed(found.answer.body)
    versions = versions_of(found, raws)
    return msgspec.structs.replace(found.page(results=len(raws)), versions=versions)


def _offset(found: MastodonGathering, results: int) -> str | None:
    before = found.ask.progress.cursor or "0"
    if results < page_size(found.ask, found.facet) or not before.isdigit():
        return None
    return str(int(before) + results)


_READERS: dict[str, Callable[[MastodonGathering], Page]] = {
    "profiles": _profiles,
    "profile": _profile,
    "followers": _relations,
    "following": _relations,
    "timeline": _timeline,
    "posts": _posts,
    "post": _post,
    "thread": _thread,
    "versions": _versions,
    "reposts": _reactions(ReactionKind.REPOST),
    "likes": _reactions(ReactionKind.LIKE),
    "quotes": _quotes,
    "hashtag": _timeline,
    "public": _timeline,
    "search": _search,
    "people": _people_found,
    "directory": _directory,
    "link": _timeline,
    "trending": _trending,
    "trends": _trends,
    "tags": _tags,
}
