"""The plan of a crawl, which all its processes follow: kept in the database with a version, every version of it.

It is what decides what is collected and how: facets, edges, filters, services, streams, places, media, history. What is a matter
of one process or one run is no part of it: credentials, money, when to stop, how many calls at once, backups, and seeds: new
ones are added at the next start, and those that the file no longer names are retired with `--apply` (`starting/seeds.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct, structs

from bowerbird.clock import to_micros
from bowerbird.crawl.process.workers.enrolment import Enrolment
from bowerbird.errors import Failure, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.files.sections.seed_list import SeedList
from bowerbird.flows.flow import Edge
from bowerbird.ports import Transaction

OUTDATED = Failure(
    "plan_outdated",
    "the plan of the crawl was changed by another process",
    "start again with the crawl file as it is now",
)
_MOST_TOLD = 12
_OWN = ("credentials", "dollars")
"""Each worker's own, and each run's."""
_HOLDS = "select plan, document from crawls c join plans p on p.crawl = c.crawl and p.version = c.plan where c.name = ?"
_ADD = "insert into plans (crawl, version, document, since) values (?, ?, ?, ?)"
_SET = "update crawls set plan = ? where crawl = ?"
_KEEP = "update plans set whole = ? where crawl = ? and version = ?"
_WHOLE = "select whole from crawls c left join plans p on p.crawl = c.crawl and p.version = c.plan where c.name = ?"

Document = dict[str, Any]


class Held(Struct, frozen=True):
    """The plan of a crawl as the database has it."""

    version: int
    document: Document


def document(plan: CrawlPlan) -> Document:
    """What a crawl file says of the plan, by names a user knows; what it does not say is left out."""
    flow, media = plan.flow, plan.media
    found: Document = {
        "flow": flow.name,
        "weight": flow.weight,
        "seeds go to": list(flow.seeds),
        "facets": {use.name: _said(use, "name", *_OWN) for use in flow.facets},
        "edges": {_edge(edge): _said(edge, "source", "to", "take", "when") for edge in flow.edges},
        "filters": _said(flow.filters),
        "services": {each.service.name: _said(each.service, "name") | _said(each, "service", *_OWN) for each in plan.services},
        "streams": {
            each.subscription.name or each.subscription.channel: {
                **_said(each.subscription, "name", "owner"),
                "service": each.service.name,
                "base": each.host.base,
            }
            for each in plan.streams
        },
        # Module by module, and None where there are none: earlier versions said nothing of them.
        "modules": {each.name: _said(each, "name") for each in flow.modules} or None,
        "places": {each.area.name: {**_said(each.area, "name"), **_said(each, "area")} for each in plan.places},
        "media": None if media is None else {"kinds": list(media.kinds), "max_bytes": media.max_bytes},
        "history counters": str(plan.counters_every),
        # The list itself is the worker's own, as its path is: that there is one is said.
        "consent": (_said(plan.consent, "opt_out") | ({"opt_out": "a list"} if plan.consent.opt_out else {})) or None,
    }
    # As it comes back from the database.
    plain: Document = msgspec.json.decode(msgspec.json.encode(found))
    return plain


def _edge(edge: Edge) -> str:
    return f"{edge.source} to {edge.to} by {edge.take}" + (f" when {edge.when}" if edge.when else "")


def _said(struct: Struct, *without: str) -> Document:
    """The fields that differ from what holds anyway: a later version of bowerbird may have more of them."""
    fields = (each for each in structs.fields(struct) if each.name not in without)
    return {each.name: _plain(value) for each in fields if (value := getattr(struct, each.name)) != _default(each)}


def _default(field: structs.FieldInfo) -> Any:
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, timedelta) else msgspec.to_builtins(value)


def differences(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What differs, one line each: `facets.timeline.revisit: 1 day, 0:00:00 before, 6:00:00 now`. Pure."""
    for key in dict.fromkeys((*before, *now)):
        old, new, name = before.get(key), now.get(key), f"{path}{key}"
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new, f"{name}.")
        elif old is None or new is None:
            value = _words(old if new is None else new)
            yield f"{name} is {'gone' if new is None else 'new'}{f': {value}' if value else ''}"
        else:
            yield f"{name}: {_words(old)} before, {_words(new)} now"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(each)}".strip() for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return str(value)


def told(changes: Sequence[str]) -> str:
    """The differences under each other, as many as one can take in."""
    more = [f"and {len(changes) - _MOST_TOLD} more"] if len(changes) > _MOST_TOLD else []
    return "\n".join(f"  {line}" for line in (*changes[:_MOST_TOLD], *more))


async def held(tx: Transaction, crawl: str) -> Held | None:
    """The plan that holds; None for a crawl that has none yet."""
    row = await tx.fetch_one(_HOLDS, crawl)
    return None if row is None else Held(row["plan"], msgspec.json.decode(row["document"]))


def whole(plan: CrawlPlan) -> str:
    """The plan for those who join without the file: seeds are targets by now, and what is one machine's own is left out."""
    kept = structs.replace(
        with_any_credentials(plan),
        store="",
        seeds=SeedList(),
        backup=None,
        called={},
        dollars=None,
        owned_as=plan.owner,
    )
    return msgspec.json.encode(kept).decode()


def with_any_credentials(plan: CrawlPlan) -> CrawlPlan:
    """The plan without the names of credentials: every worker has its own."""
    services = tuple(structs.replace(each, credentials=()) for each in plan.services)
    facets = tuple(structs.replace(use, credentials=()) for use in plan.flow.facets)
    return structs.replace(plan, services=services, flow=structs.replace(plan.flow, facets=facets))


async def joined(tx: Transaction, crawl: str, store: str) -> CrawlPlan:
    """The plan that holds, for a process that has no file; raises `UserError` where it cannot be read without one."""
    row = await tx.fetch_one(_WHOLE, crawl)
    if row is None or row["whole"] is None:
        raise UserError(
            f"the plan of the crawl {crawl} is not in the database yet",
            "start the crawl once with its file, `bowerbird crawl FILE`, with this version of bowerbird",
            code="unknown_crawl",
        )
    try:
        plan = msgspec.json.decode(row["whole"], type=CrawlPlan)
    except msgspec.ValidationError as error:
        raise UserError(
            f"the plan of the crawl {crawl} was written by another version of bowerbird and cannot be read ({error})",
            "upgrade this one, or start the crawl once with its file and this version",
            code="wrong_version",
        ) from None
    services = tuple(structs.replace(each, limits=_in_spans(each.limits)) for each in plan.services)
    return structs.replace(plan, store=store, services=services, is_joined=True)


def _in_spans(limits: Any) -> Any:
    """Limits with their windows as times again: in text they are `PT15M`."""
    if isinstance(limits, dict):
        return {name: _in_spans(value) for name, value in limits.items()}
    return msgspec.convert(limits, timedelta) if isinstance(limits, str) else limits


async def version_held(tx: Transaction, crawl: int) -> int:
    """The version that holds; 0 where there is none."""
    row = await tx.fetch_one("select plan from crawls where crawl = ?", crawl)
    return int(row["plan"]) if row is not None else 0


async def agree(
    tx: Transaction, plan: CrawlPlan, crawl: int, me: Enrolment, now: datetime, *, applies: bool | None = None
) -> None:
    """Lets a process follow the plan that holds, or its own as a new version where that differs and `applies`; raises `UserError`
    where it does not. None: it does where nobody else runs the crawl.

    The caller has written the row of the crawl: of two that start at the same time, the second waits there for the first.
    """
    await _agree(tx, plan, crawl, me, now, applies)
    if not plan.is_joined:
        await tx.execute(_KEEP, whole(plan), crawl, me.plan)


async def _agree(tx: Transaction, plan: CrawlPlan, crawl: int, me: Enrolment, now: datetime, applies: bool | None) -> None:
    known, new = await held(tx, plan.name), document(plan)
    # Not the documents themselves: a later bowerbird writes down what nobody has said anything about.
    changes = list(differences(known.document, new)) if known is not None else []
    if known is not None and not changes:
        me.plan = known.version
        return
    may_change = applies if applies is not None else await me.is_lone(tx, now)
    if known is not None and not may_change:
        raise refusal(plan.name, changes, "--apply")
    me.plan = known.version + 1 if known is not None else 1
    await tx.execute(_ADD, crawl, me.plan, msgspec.json.encode(new).decode(), to_micros(now))
    await tx.execute(_SET, me.plan, crawl)


def refusal(crawl: str, changes: Sequence[str], command: str, others: str = "") -> UserError:
    """Return the error for a crawl file that differs from the plan that its crawl follows."""
    return UserError(
        f"the crawl {crawl} follows another plan than its file says now:\n{told(changes)}\n",
        f"Apply the changed file with {command}: what was collected stays, and the change is kept with its time{others}. "
        "Or put the file back as it was",
        code="plan_changed",
    )
