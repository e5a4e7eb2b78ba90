"""The X API's answers as pages. Pure, and never raises: what cannot be read is an outcome or quarantined."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bowerbird.model import Answer, Ask, Facet, Gone, Outcome, Page, ReactionKind, Subject, Trend
from bowerbird.providers import headers
from bowerbird.providers.items import UNREADABLE, count, shortened
from bowerbird.providers.page import REPEATED, key_order, oldest_key, read_page
from bowerbird.providers.x.billing import billed
from bowerbird.providers.x.ids import is_key
from bowerbird.providers.x.reading.gather import XGathering
from bowerbird.providers.x.reading.lists_and_volumes import lists, members_of, volumes
from bowerbird.providers.x.reading.outcomes import Problem, verdict
from bowerbird.providers.x.reading.shapes import Consumption, consumptions, populars


def parse(ask: Ask, facet: Facet, answer: Answer) -> Page:
    """One answer, understood."""
    said = headers.reading(answer.headers, "x-rate-limit")
    outcome, detail = verdict(answer, said.remaining if said else None)
    if outcome is not Outcome.OK:
        page = _refused(ask, facet, outcome, detail)
        return msgspec.structs.replace(page, reading=said, retry_after=headers.retry_after(answer))
    return read_page(XGathering(ask, facet, answer), _read, said)


def _refused(ask: Ask, facet: Facet, outcome: Outcome, detail: str) -> Page:
    """An answer about the target makes it gone; of a batch it does not say which of them is meant."""
    if outcome.is_about_target and len(ask.targets) > 1:
        return Page(outcome=Outcome.BAD_REQUEST, detail=detail)
    is_gone = outcome.is_about_target and facet.subject is not Subject.WORD
    gone = tuple(Gone(facet.subject, key, outcome) for key in ask.targets) if is_gone else ()
    return Page(outcome=outcome, gone=gone, detail=detail)


def _read(found: XGathering) -> Page:
    envelope = found.open()
    if not envelope.has_data and envelope.errors and len(found.ask.targets) == 1:
        # Meant is the one target, even where `meta` says that nothing was found.
        about = _about_target(found)
        if about is not None and about.reason is not None:
            return _refused(found.ask, found.facet, about.reason, shortened(about.words))
        if not envelope.has_meta:
            return Page(outcome=_unexplained(found), detail=shortened(found.problems[0].words))
    page = _READERS[found.facet.name](found)
    return msgspec.structs.replace(page, billed=billed(found.facet, found.ask.targets[0], envelope.data))


def _about_target(found: XGathering) -> Problem | None:
    target = found.ask.targets[0].removeprefix("@").casefold()
    for each in found.problems:
        if each.reason is not None and (target in each.names or not each.names):
            return each
    return None


def _unexplained(found: XGathering) -> Outcome:
    reasons = {each.reason for each in found.problems}
    return Outcome.OVERLOADED if Outcome.OVERLOADED in reasons else Outcome.UNREADABLE


def _batch_of_users(found: XGathering) -> Page:
    found.read_users(found.envelope.data)
    return _batch(found)


def _batch_of_posts(found: XGathering) -> Page:
    found.read_listed(found.envelope.data)
    return _batch(found)


def _batch(found: XGathering) -> Page:
    """Only what `errors[]` names is gone: whatever is missing without a word was not told about."""
    if not found.envelope.data and not found.envelope.errors:
        raise ValueError("an answer to a batch without data or errors")
    found.note_absences()
    return found.page(results=len(found.envelope.data))


def _profile(found: XGathering) -> Page:
    found.read_users(_one(found))
    return _single(found)


def _post(found: XGathering) -> Page:
    found.read_listed(_one(found))
    return _single(found)


def _one(found: XGathering) -> tuple[bytes, ...]:
    if len(found.envelope.data) != 1:
        raise ValueError(f"{len(found.envelope.data)} objects instead of one")
    return found.envelope.data


def _single(found: XGathering) -> Page:
    """The page of a single object; one without so much as an id is not an item at all."""
    if not found.is_sure:
        raise ValueError("an object without an id")
    found.note_absences()
    page = found.page(results=1)
    asked = [gone for gone in page.gone if gone.subject is found.facet.subject and gone.key in found.ask.targets]
    return msgspec.structs.replace(page, outcome=asked[0].reason, detail=asked[0].reason.value) if asked else page


def _listed(found: XGathering) -> tuple[bytes, ...]:
    """The items of a list; an empty one has `meta` and no `data`."""
    if found.envelope.has_data and not found.envelope.is_list:
        raise ValueError("an object instead of a list")
    if not found.envelope.has_data and not found.envelope.has_meta:
        raise ValueError("neither data nor meta")
    return found.envelope.data


def _relations(found: XGathering) -> Page:
    raws = _listed(found)
    keys = [user.key for user in found.read_users(raws)]
    cursor, detail = _next(found)
    edges = found.relations((*keys, *sorted(filter(is_key, found.lost_keys))))
    return msgspec.structs.replace(found.page(results=len(raws), cursor=cursor, detail=detail), relations=edges)


def _users(found: XGathering) -> Page:
    raws = _listed(found)
    found.read_users(raws)
    cursor, detail = _next(found)
    return found.page(results=len(raws), cursor=cursor, detail=detail)


def _reactions(kind: ReactionKind) -> Callable[[XGathering], Page]:
    def read(found: XGathering) -> Page:
        raws = _listed(found)
        keys = [user.key for user in found.read_users(raws)]
        cursor, detail = _next(found)
        page = found.page(results=len(raws), cursor=cursor, detail=detail)
        return msgspec.structs.replace(page, reactions=found.reactions(kind, keys))

    return read


def _members(found: XGathering) -> Page:
    return members_of(found, _users(found))


def _lists(found: XGathering) -> Page:
    _listed(found)
    return lists(found)


def _next(found: XGathering) -> tuple[str | None, str]:
    """The next page's token; a short or empty page does not end the list, only a missing token does."""
    token = found.envelope.next_token
    return (None, REPEATED) if token is not None and token == found.ask.progress.cursor else (token, "")


def _posts(found: XGathering) -> Page:
    raws = _listed(found)
    keys = found.read_listed(raws)
    found.note_absences()
    cursor, detail = _next(found)
    listed = (*keys, *filter(is_key, found.lost_keys))
    if _is_reached(found, oldest_key(listed)):
        cursor = None
    return found.page(results=len(raws), cursor=cursor, head=_head(found, listed), detail=detail)


def _is_reached(found: XGathering, last: str | None) -> bool:
    """Whether the known posts are reached, for lists without `since_id` and servers that ignore it."""
    known = found.ask.progress.newest
    return found.facet.is_incremental and known is not None and last is not None and key_order(last) <= key_order(known)


def _head(found: XGathering, keys: tuple[str, ...]) -> str | None:
    """The newest post of a first page, quarantined ones included, or they would come again with every visit."""
    return found.newest(keys) if found.facet.is_incremental and found.ask.progress.cursor is None else None


def _trends(found: XGathering) -> Page:
    if not found.envelope.is_list:
        raise ValueError("no list of trends")
    ranked: list[Trend] = []
    for rank, raw in enumerate(found.envelope.data, 1):
        try:
            each = populars.read(raw)
        except UNREADABLE as error:
            found.quarantine(Subject.WORD, raw, error)
            continue
        if each.trend_name:
            volume = count(each.post_count if each.tweet_count is None else each.tweet_count)
            ranked.append(Trend(each.trend_name, rank, found.ask.targets[0], volume))
    return msgspec.structs.replace(found.page(results=len(found.envelope.data)), trends=tuple(ranked))


def usage(body: bytes) -> Consumption:
    """How much of the month's posts is used, from an answer of the facet `usage`; raises one of `UNREADABLE`."""
    found = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return consumptions.read(bytes(found.get("data", b"")))


def _usage(found: XGathering) -> Page:
    told = usage(found.answer.body)
    if told.project_usage is None:
        raise ValueError("no usage in the answer")
    words = f"{told.project_usage} of {told.project_cap} posts used; counted anew on day {told.cap_reset_day} of the month"
    return found.page(results=1, detail=words)


_READERS: dict[str, Callable[[XGathering], Page]] = {
    "profiles": _batch_of_users,
    "profile": _profile,
    "handles": _batch_of_users,
    "followers": _relations,
    "following": _relations,
    "timeline": _posts,
    "mentions": _posts,
    "liked": _posts,
    "posts": _batch_of_posts,
    "post": _post,
    "thread": _posts,
    "reposts": _posts,
    "reposters": _reactions(ReactionKind.REPOST),
    "quotes": _posts,
    "likes": _reactions(ReactionKind.LIKE),
    "search": _posts,
    "search_all": _posts,
    "hashtag": _posts,
    "people": _users,
    "members": _members,
    "lists": _lists,
    "volumes": volumes,
    "list_timeline": _posts,
    "trends": _trends,
    "usage": _usage,
}
