"""The filter rules of an application: from those it has to those that are wanted, one call after the other. Pure.

Rules outlive connections and belong to the application, which others may use too: ours carry a tag that says so, and all
others are left alone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import msgspec
from msgspec import Struct

from bowerbird.model import Answer, Outcome, Page, Request, Subscription
from bowerbird.providers import headers
from bowerbird.providers.items import UNREADABLE, Reader, shortened
from bowerbird.providers.x.reading.envelope import Envelope, opened
from bowerbird.providers.x.reading.outcomes import problem, verdict
from bowerbird.providers.x.streams.channels import tag_and_rule

PATH = "/2/tweets/search/stream/rules"
_JSON = {"content-type": "application/json"}
_MOST_PAGES = 15


class Rule(Struct, frozen=True):
    value: str
    tag: str | None = None
    id: str = ""


class _RefusedError(ValueError):
    """An answer after which the rules cannot be settled; the page says why."""

    def __init__(self, page: Page) -> None:
        super().__init__(page.detail)
        self.page = page


class _Existing(Struct):
    value: str = ""
    id: str = ""


class _RuleProblem(Struct):
    title: str = ""
    details: list[str] = []


Ids = tuple[str, ...]
_Steps = Generator[Request, Answer, Ids]
_rules = Reader(Rule)
_problems = Reader(_RuleProblem)
_existing = Reader(_Existing)


def settle(wanted: Subscription, answers: Sequence[Answer], *, is_live: bool = False) -> Request | Page | Ids:
    """The next call, the reason why there is none, or, when every rule is in place, the ids of those whose posts are ours.

    `is_live`: a connection is open, so that new rules come before old ones go: what both match is not missed in between.
    """
    steps = _steps(_wanted(wanted), _prefix(wanted), is_live)
    try:
        request = next(steps)
        for answer in answers:
            request = steps.send(answer)
    except StopIteration as end:
        ids: Ids = end.value
        return ids
    except _RefusedError as refused:
        return refused.page
    return request


def _prefix(wanted: Subscription) -> str:
    """Rules of other crawls with the same credential are none of our business, though they are bowerbird's as well."""
    owner = f"{wanted.owner}:" if wanted.owner else ""
    return f"bowerbird:{owner}" + (wanted.name or wanted.channel).replace(":", "_")[:40]


def _wanted(wanted: Subscription) -> list[Rule]:
    prefix = _prefix(wanted)
    parts = (tag_and_rule(written) for written in wanted.options.get("rules", ()))
    return [Rule(value, f"{prefix}:{tag}" if tag else prefix) for tag, value in parts]


def _steps(wanted: list[Rule], prefix: str, is_live: bool) -> _Steps:
    known = yield from _listed()
    ours = [rule for rule in known if rule.tag == prefix or (rule.tag or "").startswith(f"{prefix}:")]
    asked = {(rule.value, rule.tag) for rule in wanted}
    kept = {(rule.value, rule.tag): rule.id for rule in ours if (rule.value, rule.tag) in asked}
    stale = [rule for rule in ours if rule.id not in kept.values()]
    # The same words under another tag cannot be there twice.
    first = [rule for rule in stale if not is_live or rule.value in {each.value for each in wanted}]
    yield from _deleted(first)
    # What somebody else asked for already cannot be added again, but hearing it is all we want.
    shared = {rule.value: rule.id for rule in known if rule not in ours}
    missing = [rule for rule in wanted if (rule.value, rule.tag) not in kept and rule.value not in shared]
    added = (yield from _added(missing)) if missing else ()
    yield from _deleted([rule for rule in stale if rule not in first])
    return *kept.values(), *(shared[rule.value] for rule in wanted if rule.value in shared), *added


def _deleted(rules: list[Rule]) -> Generator[Request, Answer, None]:
    if rules:
        _envelope((yield _change({"delete": {"ids": [rule.id for rule in rules]}})))


def _listed() -> Generator[Request, Answer, list[Rule]]:
    found: list[Rule] = []
    token: str | None = None
    for _ in range(_MOST_PAGES):
        more = (("pagination_token", token),) if token else ()
        envelope = _envelope((yield Request(path=PATH, query=(("max_results", "1000"), *more))))
        found += _read(envelope)
        token = envelope.next_token
        if token is None:
            break
    return found


def _added(missing: list[Rule]) -> Generator[Request, Answer, Ids]:
    answer = yield _change({"add": [{"value": rule.value, "tag": rule.tag} for rule in missing]})
    envelope = _envelope(answer)
    problems = [(problem(raw), raw) for raw in envelope.errors]
    duplicates = [raw for each, raw in problems if each.kind == "duplicate-rules" or each.title == "DuplicateRule"]
    for each, raw in problems:
        if raw not in duplicates:
            words = shortened(f"the rule {_refused_rule(raw)!r} was not taken: {each.title} {each.words}")
            raise _RefusedError(Page(outcome=Outcome.BAD_REQUEST, detail=words))
    return tuple(rule.id for rule in _read(envelope)) + tuple(filter(None, map(_id_of, duplicates)))


def _change(body: dict[str, object]) -> Request:
    return Request(method="POST", path=PATH, headers=_JSON, body=msgspec.json.encode(body))


def _envelope(answer: Answer) -> Envelope:
    """The parts of a good answer; of a bad one the rule it names is told first."""
    said = headers.reading(answer.headers, "x-rate-limit")
    outcome, detail = verdict(answer, said.remaining if said else None)
    if outcome is Outcome.OK:
        try:
            return opened(answer.body)
        except UNREADABLE as error:
            outcome, detail = Outcome.UNREADABLE, shortened(f"cannot read the rules ({error})")
    detail = shortened(_named(answer) + detail + _why(answer))
    raise _RefusedError(Page(outcome=outcome, reading=said, retry_after=headers.retry_after(answer), detail=detail))


def _named(answer: Answer) -> str:
    try:
        rule = next((rule for raw in opened(answer.body).errors if (rule := _refused_rule(raw))), "")
    except UNREADABLE:
        rule = ""
    return f"the rule {rule[:80]!r} was not taken: " if rule else ""


def _why(answer: Answer) -> str:
    """The service's own words on what is wrong with a rule."""
    try:
        problems = [_problems.read(raw) for raw in opened(answer.body).errors]
    except UNREADABLE:
        return ""
    said = [text for each in problems for text in (each.title, *each.details) if text]
    return " (" + "; ".join(dict.fromkeys(said)) + ")" if said else ""


def _read(envelope: Envelope) -> list[Rule]:
    """The rules that can be read; one without an id cannot be dealt with."""
    found = []
    for raw in envelope.data:
        try:
            found.append(_rules.read(raw))
        except UNREADABLE:
            continue
    return [rule for rule in found if rule.id]


def _refused_rule(raw: bytes) -> str:
    try:
        return _existing.read(raw).value
    except UNREADABLE:
        return ""


def _id_of(raw: bytes) -> str:
    try:
        return _existing.read(raw).id
    except UNREADABLE:
        return ""
