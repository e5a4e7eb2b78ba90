"""The classic API's answers as pages. Pure, and never raises: what cannot be read is an outcome or quarantined."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Answer, Ask, Facet, Gone, Member, Outcome, Page, ReactionKind, Subject
from bowerbird.providers import headers
from bowerbird.providers.base import page_size
from bowerbird.providers.items import Reader, an_object, listed
from bowerbird.providers.page import REPEATED, is_number, key_before, key_order, oldest_key, read_page
from bowerbird.providers.twitter_v1.reading.gather import TwitterGathering
from bowerbird.providers.twitter_v1.reading.lists_and_users import bare_users, lists_of
from bowerbird.providers.twitter_v1.reading.outcomes import NONE_MATCHES, UNKNOWN_PATH, Verdict, verdict
from bowerbird.providers.twitter_v1.requests import joined, split


class _Ids(Struct):
    ids: list[Raw]
    next_cursor: int | str | None = None
    next_cursor_str: str | None = None


class _Users(Struct):
    users: list[Raw]
    next_cursor: int | str | None = None
    next_cursor_str: str | None = None


class _Lists(Struct):
    lists: list[Raw]
    next_cursor: int | str | None = None
    next_cursor_str: str | None = None


class _Metadata(Struct, gc=False):
    next_results: str | None = None


class _Found(Struct):
    statuses: list[Raw]
    search_metadata: _Metadata | None = None


_id_pages = Reader(_Ids)
_user_pages = Reader(_Users)
_list_pages = Reader(_Lists)
_found = Reader(_Found)


def parse(ask: Ask, facet: Facet, answer: Answer) -> Page:
    """One answer, understood."""
    said = headers.reading(answer.headers, "x-rate-limit")
    judged = verdict(answer)
    if judged.outcome is not Outcome.OK:
        return msgspec.structs.replace(_refused(ask, facet, judged), reading=said, retry_after=headers.retry_after(answer))
    return read_page(TwitterGathering(ask, facet, answer), _READERS[facet.name], said)


def _refused(ask: Ask, facet: Facet, judged: Verdict) -> Page:
    """An answer about the target makes it gone; about a batch only the code for "none of them" says so much."""
    ended, is_batch = judged.outcome, len(ask.targets) > 1
    if ended.is_about_target and is_batch and judged.code != NONE_MATCHES:
        return Page(outcome=Outcome.BAD_REQUEST, detail=judged.detail)
    if judged.code == UNKNOWN_PATH and facet.is_own_route:
        # The object's own route calls a missing object by other codes: this one may mean that the route is missing.
        return Page(outcome=Outcome.UNREADABLE, detail=judged.detail, perhaps=ended)
    is_gone = ended.is_about_target and facet.subject is not Subject.WORD
    gone = tuple(Gone(facet.subject, key, ended) for key in ask.targets) if is_gone else ()
    return Page(outcome=ended, gone=gone, detail=judged.detail)


def _profiles(found: TwitterGathering) -> Page:
    raws = listed(found.answer.body)
    users = found.read_users(raws)
    keys = {user.key for user in users} | {f"@{(user.handle or '').casefold()}" for user in users}
    return _batch(found, keys, len(raws))


def _posts(found: TwitterGathering) -> Page:
    raws = listed(found.answer.body)
    return _batch(found, set(found.read_listed(raws)), len(raws))


def _batch(found: TwitterGathering, keys: set[str], results: int) -> Page:
    found.mark_missing(keys)
    return found.page(results=results)


def _profile(found: TwitterGathering) -> Page:
    found.read_users([an_object(found.answer.body)])
    return _single(found)


def _post(found: TwitterGathering) -> Page:
    found.read_listed([an_object(found.answer.body)])
    return _single(found)


def _single(found: TwitterGathering) -> Page:
    """The page of a single object; one without so much as an id is not an item at all."""
    if not found.is_sure:
        raise ValueError("an object without an id")
    return found.page(results=1)


def _relation_ids(found: TwitterGathering) -> Page:
    page = _id_pages.read(found.answer.body)
    keys = found.read_ids(page.ids)
    cursor, detail = _next(found, page)
    return msgspec.structs.replace(
        found.page(results=len(page.ids), cursor=cursor, detail=detail), relations=found.relations(keys)
    )


def _reposters(found: TwitterGathering) -> Page:
    page = _id_pages.read(found.answer.body)
    keys = found.read_ids(page.ids)
    bare_users(found, keys)
    cursor, detail = _next(found, page)
    whole = found.page(results=len(page.ids), cursor=cursor, detail=detail)
    return msgspec.structs.replace(whole, reactions=found.reactions(ReactionKind.REPOST, keys))


def _lists(found: TwitterGathering) -> Page:
    page = _list_pages.read(found.answer.body)
    lists = lists_of(found, [bytes(raw) for raw in page.lists])
    cursor, detail = _next(found, page)
    return msgspec.structs.replace(found.page(results=len(page.lists), cursor=cursor, detail=detail), lists=lists)


def _relation_users(found: TwitterGathering) -> Page:
    page = _user_pages.read(found.answer.body)
    keys = [user.key for user in found.read_users(bytes(raw) for raw in page.users)]
    cursor, detail = _next(found, page)
    edges = found.relations((*keys, *sorted(found.lost_keys)))
    return msgspec.structs.replace(found.page(results=len(page.users), cursor=cursor, detail=detail), relations=edges)


def _members(found: TwitterGathering) -> Page:
    page = _user_pages.read(found.answer.body)
    users = found.read_users(bytes(raw) for raw in page.users)
    cursor, detail = _next(found, page)
    key = found.ask.targets[0]
    # Asked by owner and slug, the answer does not tell the list's id.
    members = tuple(Member(key, user.key) for user in users) if is_number(key) else ()
    return msgspec.structs.replace(found.page(results=len(page.users), cursor=cursor, detail=detail), members=members)


def _next(found: TwitterGathering, page: _Ids | _Users | _Lists) -> tuple[str | None, str]:
    """The next cursor; 0 ends the list, a short or empty page does not."""
    cursor = page.next_cursor_str or str(page.next_cursor or 0)
    if headers.usable(cursor) == "0":
        return None, ""
    if cursor == (found.ask.progress.cursor or "-1"):
        return None, REPEATED
    return cursor, ""


def _timeline(found: TwitterGathering) -> Page:
    raws = listed(found.answer.body)
    keys = found.read_listed(raws)
    cursor, detail = _older(found, keys, len(raws))
    return found.page(results=len(raws), cursor=cursor, head=_head(found, keys), detail=detail)


def _head(found: TwitterGathering, keys: list[str]) -> str | None:
    """The newest post of a first page, quarantined ones included, or they would come again with every visit."""
    if found.ask.progress.cursor is not None or not found.facet.is_incremental:
        return None
    return found.newest((*keys, *filter(is_number, found.lost_keys)))


def _older(found: TwitterGathering, keys: list[str], results: int) -> tuple[str | None, str]:
    """The position key_before the oldest_key post; None when the known posts are reached, or the end, or the cap."""
    before, listed_before = split(found.ask.progress.cursor)
    seen, known = listed_before + results, found.ask.progress.newest
    last = oldest_key((*keys, *filter(is_number, found.lost_keys)))
    is_reached = known is not None and found.facet.is_incremental and last is not None and key_order(last) <= key_order(known)
    if last is None or is_reached or _is_whole(found, results, seen):
        return None, ""
    position = key_before(last)
    if before is not None and key_order(position) >= key_order(before):
        return None, REPEATED
    return joined(position, seen), ""


def _is_whole(found: TwitterGathering, results: int, seen: int) -> bool:
    """Whether nothing older can be had: the reach cap, or a short page that completes the author's own counter."""
    cap = found.facet.total_results
    if cap is not None and seen >= cap:
        return True
    is_short = results < page_size(found.ask, found.facet)
    if found.facet.name != "timeline" or not is_short or found.ask.progress.newest is not None:
        return False
    target = found.ask.targets[0].removeprefix("@").casefold()
    authors = [user for user in found.users.values() if target in (user.key, (user.handle or "").casefold())]
    return any(user.posts is not None and seen >= user.posts for user in authors)


def _reposts(found: TwitterGathering) -> Page:
    raws = listed(found.answer.body)
    found.read_listed(raws)
    return found.page(results=len(raws))


def _search(found: TwitterGathering) -> Page:
    page = _found.read(found.answer.body)
    keys = found.read_listed(bytes(raw) for raw in page.statuses)
    results = len(page.statuses)
    has_more = page.search_metadata is not None and page.search_metadata.next_results is not None
    cursor, detail = _older(found, keys, results) if has_more else (None, "")
    return found.page(results=results, cursor=cursor, head=_head(found, keys), detail=detail)


def _people(found: TwitterGathering) -> Page:
    raws = listed(found.answer.body)
    found.read_users(raws)
    number = found.ask.progress.cursor or "1"
    size, cap = page_size(found.ask, found.facet), found.facet.total_results or 0
    has_more = len(raws) >= size and is_number(number) and int(number) * size < cap
    return found.page(results=len(raws), cursor=str(int(number) + 1) if has_more else None)


_READERS: dict[str, Callable[[TwitterGathering], Page]] = {
    "profiles": _profiles,
    "profile": _profile,
    "followers": _relation_ids,
    "following": _relation_ids,
    "followers_list": _relation_users,
    "following_list": _relation_users,
    "timeline": _timeline,
    "liked": _timeline,
    "lists": _lists,
    "posts": _posts,
    "post": _post,
    "reposts": _reposts,
    "reposters": _reposters,
    "search": _search,
    "hashtag": _search,
    "people": _people,
    "members": _members,
    "list_timeline": _timeline,
}
