"""Weibo's answers as pages. Pure, and never raises: what cannot be read is an outcome or quarantined."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from bowerbird.model import Answer, Ask, Facet, Gone, Outcome, Page, Relation, RelationKind, Subject
from bowerbird.providers import headers
from bowerbird.providers.items import Reader, an_object, listed
from bowerbird.providers.page import REPEATED, is_number, key_before, key_order, oldest_key, read_page
from bowerbird.providers.weibo.reading import readings
from bowerbird.providers.weibo.reading.gather import WeiboGathering
from bowerbird.providers.weibo.reading.outcomes import Verdict, verdict
from bowerbird.providers.weibo.reading.phrases import trends_of, user_tags_of
from bowerbird.providers.weibo.requests import joined, split

Cursor = int | str | None


class _Ids(Struct):
    ids: list[Raw]
    next_cursor: Cursor = None


class _Users(Struct):
    users: list[Raw]
    next_cursor: Cursor = None


class _Statuses(Struct):
    statuses: list[Raw]
    total_number: int | None = None


class _Reposts(Struct):
    reposts: list[Raw]
    total_number: int | None = None


class _Comments(Struct):
    comments: list[Raw]
    total_number: int | None = None


_id_pages = Reader(_Ids)
_user_pages = Reader(_Users)
_status_pages = Reader(_Statuses)
_repost_pages = Reader(_Reposts)
_comment_pages = Reader(_Comments)


def parse(ask: Ask, facet: Facet, answer: Answer) -> Page:
    """One answer, understood."""
    judged = verdict(answer)
    if judged.outcome is Outcome.OK:
        page = read_page(WeiboGathering(ask, facet, answer), _READERS[facet.name], None)
        return _with_limits(page, answer) if facet.name == "limits" and page.outcome is Outcome.OK else page
    said = readings.of_refusal(judged.code, facet, answer)
    return msgspec.structs.replace(_refused(ask, facet, judged), reading=said, retry_after=headers.retry_after(answer))


def _refused(ask: Ask, facet: Facet, judged: Verdict) -> Page:
    """An answer about the target makes it gone; one about a batch does not say which of them it means."""
    ended = judged.outcome
    if ended.is_about_target and len(ask.targets) > 1:
        return Page(outcome=Outcome.BAD_REQUEST, detail=judged.detail)
    is_gone = ended.is_about_target and facet.subject is not Subject.WORD
    gone = tuple(Gone(facet.subject, key, ended) for key in ask.targets) if is_gone else ()
    return Page(outcome=ended, gone=gone, detail=judged.detail)


def _with_limits(page: Page, answer: Answer) -> Page:
    return msgspec.structs.replace(page, reading=readings.of_status(answer.body, answer))


def _limits(found: WeiboGathering) -> Page:
    readings.of_status(found.answer.body, found.answer)
    return found.page(results=1)


def _profiles(found: WeiboGathering) -> Page:
    raws = [bytes(raw) for raw in _user_pages.read(found.answer.body).users]
    return _batch(found, {user.key for user in found.read_users(raws)}, len(raws))


def _counts(found: WeiboGathering) -> Page:
    raws = listed(found.answer.body)
    return _batch(found, {user.key for user in found.read_users(raws)}, len(raws))


def _posts(found: WeiboGathering) -> Page:
    raws = [bytes(raw) for raw in _status_pages.read(found.body).statuses]
    return _batch(found, set(found.read_listed(raws)), len(raws))


def _comment_batch(found: WeiboGathering) -> Page:
    raws = listed(found.answer.body)
    return _batch(found, set(found.comments(raws)), len(raws))


def _batch(found: WeiboGathering, keys: set[str], results: int) -> Page:
    found.mark_missing(keys)
    return found.page(results=results)


def _profile(found: WeiboGathering) -> Page:
    found.read_users([an_object(found.answer.body)])
    return _single(found)


def _post(found: WeiboGathering) -> Page:
    found.read_listed([an_object(found.answer.body)])
    return _single(found)


def _single(found: WeiboGathering) -> Page:
    """The page of a single object; one without so much as an id is not an item at all."""
    if not found.is_sure:
        raise ValueError("an object without an id")
    page = found.page(results=1)
    asked = [gone for gone in page.gone if gone.subject is found.facet.subject and gone.key in found.ask.targets]
    return msgspec.structs.replace(page, outcome=asked[0].reason, detail=asked[0].reason.value) if asked else page


def _relation_ids(found: WeiboGathering) -> Page:
    page = _id_pages.read(found.answer.body)
    edges = found.relations(found.read_ids(page.ids))
    cursor, detail = _next(found, page.next_cursor, len(page.ids))
    return msgspec.structs.replace(found.page(results=len(page.ids), cursor=cursor, detail=detail), relations=edges)


def _mutuals(found: WeiboGathering) -> Page:
    """Both follow each other: two relations for each id."""
    page, target = _id_pages.read(found.answer.body), found.ask.targets[0]
    pairs = [pair for key in found.read_ids(page.ids) for pair in ((key, target), (target, key))]
    edges = tuple(Relation(RelationKind.FOLLOW, *pair) for pair in pairs)
    whole = found.page(results=len(page.ids), cursor=_numbered(found, len(page.ids)))
    return msgspec.structs.replace(whole, relations=edges)


def _relation_users(found: WeiboGathering) -> Page:
    page = _user_pages.read(found.answer.body)
    keys = [user.key for user in found.read_users(bytes(raw) for raw in page.users)]
    cursor, detail = _next(found, page.next_cursor, len(page.users))
    edges = found.relations((*keys, *sorted(filter(is_number, found.lost_keys))))
    return msgspec.structs.replace(found.page(results=len(page.users), cursor=cursor, detail=detail), relations=edges)


def _next(found: WeiboGathering, told: Cursor, results: int) -> tuple[str | None, str]:
    """The next cursor; 0 ends the list, a short or empty page does not, the reach cap does."""
    before, seen = split(found.ask.progress.cursor)
    cursor, cap = str(told or 0), found.facet.total_results
    if not is_number(cursor):
        raise ValueError("a position that cannot be used")
    if cursor == "0" or (cap is not None and seen + results >= cap):
        return None, ""
    if key_order(cursor) <= key_order(before or "0"):
        return None, REPEATED
    return joined(cursor, seen + results), ""


def _timeline(found: WeiboGathering) -> Page:
    page = _status_pages.read(found.body)
    return _descending(found, found.read_listed(bytes(raw) for raw in page.statuses), len(page.statuses), page.total_number)


def _reposts(found: WeiboGathering) -> Page:
    page = _repost_pages.read(found.body)
    return _descending(found, found.read_listed(bytes(raw) for raw in page.reposts), len(page.reposts), page.total_number)


def _thread(found: WeiboGathering) -> Page:
    page = _comment_pages.read(found.body)
    return _descending(found, found.comments(bytes(raw) for raw in page.comments), len(page.comments), page.total_number)


def _descending(found: WeiboGathering, keys: list[str], results: int, total: int | None) -> Page:
    numbered = (*keys, *filter(is_number, found.lost_keys))
    cursor, detail = _older(found, oldest_key(numbered), results, total)
    # Quarantined items count as seen, or they would come again with every visit.
    head = found.newest(numbered) if found.ask.progress.cursor is None else None
    return found.page(results=results, cursor=cursor, head=head, detail=detail)


def _older(found: WeiboGathering, last: str | None, results: int, total: int | None) -> tuple[str | None, str]:
    """The position key_before the oldest_key item; None when the known ones are reached, or the end, or the cap."""
    before, listed_before = split(found.ask.progress.cursor)
    seen, known, cap = listed_before + results, found.ask.progress.newest, found.facet.total_results
    is_whole = before is None and total is not None and results >= total
    is_reached = known is not None and last is not None and key_order(last) <= key_order(known)
    if last is None or is_whole or is_reached or (cap is not None and seen >= cap):
        return None, ""
    position = key_before(last)
    if before is not None and key_order(position) >= key_order(before):
        return None, REPEATED
    return joined(position, seen), ""


def _search(found: WeiboGathering) -> Page:
    page = _status_pages.read(found.body)
    found.read_listed(bytes(raw) for raw in page.statuses)
    return found.page(results=len(page.statuses), cursor=_numbered(found, len(page.statuses)))


def _public(found: WeiboGathering) -> Page:
    page = _status_pages.read(found.body)
    found.read_listed(bytes(raw) for raw in page.statuses)
    return found.page(results=len(page.statuses))


def _numbered(found: WeiboGathering, results: int) -> str | None:
    """The number of the next page: short pages are normal, an empty one is the end."""
    number, seen = split(found.ask.progress.cursor)
    cap, page = found.facet.total_results, int(number) if number and is_number(number) else 1
    has_ended = not results or (cap is not None and seen + results >= cap)
    return None if has_ended else joined(str(page + 1), seen + results)


def _people(found: WeiboGathering) -> Page:
    raws = listed(found.answer.body)
    found.read_users(raws)
    return found.page(results=len(raws))


def _tags(found: WeiboGathering) -> Page:
    raws = listed(found.answer.body)
    tags = user_tags_of(found, raws)
    return msgspec.structs.replace(found.page(results=len(raws)), user_tags=tags)


def _trends(found: WeiboGathering) -> Page:
    trends = trends_of(found)
    return msgspec.structs.replace(found.page(results=len(trends)), trends=trends)


_READERS: dict[str, Callable[[WeiboGathering], Page]] = {
    "profiles": _profiles,
    "profile": _profile,
    "counts": _counts,
    "followers": _relation_ids,
    "following": _relation_ids,
    "followers_list": _relation_users,
    "following_list": _relation_users,
    "mutuals": _mutuals,
    "timeline": _timeline,
    "tags": _tags,
    "posts": _posts,
    "post": _post,
    "reposts": _reposts,
    "thread": _thread,
    "comments": _comment_batch,
    "search": _search,
    "hashtag": _search,
    "people": _people,
    "public": _public,
    "nearby": _search,
    "trends": _trends,
    "limits": _limits,
}
