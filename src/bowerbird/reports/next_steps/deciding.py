"""What must be changed, and which command then goes on with a crawl: found by asking what the next start would meet. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from bowerbird.crawl.life.plan_versions import differences, document
from bowerbird.crawl.process.endings import BUDGET_SPENT, GOOD_ENOUGH, NOTHING_LEFT
from bowerbird.errors import Failure
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan
from bowerbird.flows.flow import Size
from bowerbird.limits.budget import SPENT, BudgetStatus
from bowerbird.model import CrawlState
from bowerbird.model.money import dollars, in_dollars, thousandths
from bowerbird.model.times import span
from bowerbird.reports.next_steps.again import Again
from bowerbird.reports.next_steps.agreed import Wish, may_spend, wish_of
from bowerbird.reports.next_steps.costs import cheapest, paid_services
from bowerbird.reports.next_steps.step import Step
from bowerbird.reports.status.left_out import NotAsked
from bowerbird.reports.status.money import month_purse, own_purse

_COUNTED = ("calls", "items", "users", "posts")


class Ended(Struct, frozen=True, kw_only=True):
    """How a crawl stands, as its store tells."""

    state: CrawlState
    reason: Failure | None = None
    """Why it ended; None: it never ran, or runs."""
    size: Size = Size()
    waiting: frozenset[tuple[str, str]] = frozenset()
    """Services and facets that have questions left."""
    purses: tuple[BudgetStatus, ...] = ()
    agreed: Wish | None = None
    left_out: tuple[NotAsked, ...] = ()
    followed: Mapping[str, Any] | None = None
    """The plan that it follows, as its store has it; None: before its first call that is whatever its file says."""
    touched: tuple[str, ...] = ()
    """What was changed since it ended, of what a user changes to mend it."""
    half_width: float | None = None
    """What its last run was to reach."""
    now: datetime

    @property
    def code(self) -> str:
        return "" if self.reason is None else self.reason.code


def next_step(plan: CrawlPlan | None, again: Again, ended: Ended) -> Step:
    """What to do about a crawl; `plan`: what its file says now, None where nobody knows."""
    applying = _applying(plan, ended)
    is_done = ended.state == CrawlState.FINISHED and ended.code == NOTHING_LEFT
    if is_done and not applying:
        lacking = [each for each in ended.left_out if each.advice and each.targets]
        if first := tuple(f"to ask for {each.facet} of {each.service} too, {each.advice}" for each in lacking):
            return Step(first=first, command=again.line())
        return Step(about=f"there is nothing left to ask; more seeds in {again.file} would be asked by: {again.line()}")
    failed, doubt = _failed(ended)
    if plan is None:
        return Step(first=(*failed, *_unknown(ended)), command=again.line(), about=doubt)
    months = list(_months(plan, ended, again.file))
    own = list(_own_dollars(plan, ended, again.file))
    options, about = _paying(plan, again, ended, is_raised=bool(own or months))
    changed = "--apply: its file was changed since, and the crawl follows it from then on" if applying else ""
    about = "; ".join(filter(None, (doubt, changed, about)))
    first = (*failed, *_reached(plan, ended, again.file), *own, *months)
    return Step(first=first, command=again.line(*applying, *options), about=about, month=" ".join(months))


def _failed(ended: Ended) -> tuple[tuple[str, ...], str]:
    """What is to be mended first, or that it may be mended by now."""
    if ended.state != CrawlState.FAILED:
        return (), ""
    if not ended.touched:
        return ("mend what it failed for, named above",), ""
    were = "was" if len(ended.touched) == 1 else "were"
    return (), f"it failed for what is named above; {' and '.join(ended.touched)} {were} changed since"


def _applying(plan: CrawlPlan | None, ended: Ended) -> tuple[str, ...]:
    """The option without which the next start is refused, where the file says something else than the crawl follows."""
    if plan is None or ended.followed is None or not any(differences(ended.followed, document(plan))):
        return ()
    return ("--apply",)


def _unknown(ended: Ended) -> Iterator[str]:
    """Where its file cannot be read: what it ended with may stand there."""
    if ended.state == CrawlState.FINISHED:
        yield f"raise what ended it under [stop] of its crawl file, unless the command line did ({ended.reason})"


def _reached(plan: CrawlPlan, ended: Ended, file: str) -> Iterator[str]:
    """What under [stop] of the file would end the next run before its first call."""
    stop = plan.flow.stop
    for name in _COUNTED:
        limit, done = getattr(stop, name), getattr(ended.size, name)
        if limit is not None and done >= limit:
            yield f"raise {name} under [stop] of {file}: {done:,} of {limit:,} are reached"
    if stop.duration is not None and ended.size.elapsed >= stop.duration:
        yield f"raise duration under [stop] of {file}: it ran for the {span(stop.duration)} that it may"
    is_as_before = stop.half_width is not None and ended.half_width is not None and stop.half_width >= ended.half_width
    if is_as_before and ended.code == GOOD_ENOUGH:
        yield f"lower half_width under [stop] of {file}, now {stop.half_width:g}: the sample is as good as that"


def _own_dollars(plan: CrawlPlan, ended: Ended, file: str) -> Iterator[str]:
    own, allowed = own_purse(ended.purses, plan.name), plan.flow.stop.dollars
    if own is None or allowed is None:
        return
    left = thousandths(allowed) - thousandths(own.spent)
    costs = [cheapest(plan, each, ended.waiting) for each in paid_services(plan)]
    spent = f"{structs.replace(own, allowed=allowed).words} {SPENT}"
    # A stream may need more than the cheapest call: then that is why the crawl ended, and it would again.
    has_ended = ended.code == BUDGET_SPENT and own.allowed is not None and thousandths(own.allowed) == thousandths(allowed)
    if has_ended or (costs and all(cost is not None and left < cost for cost in costs)):
        yield f"raise dollars under [stop] of {file}: {spent}"


def _months(plan: CrawlPlan, ended: Ended, file: str) -> Iterator[str]:
    for planned in paid_services(plan):
        purse = month_purse(ended.purses, planned.service.name)
        if purse is not None and _is_used_up(plan, planned, purse, ended):
            spent = structs.replace(purse, allowed=planned.dollars).words
            when = f"{purse.resets_at:%-d %B %Y} (UTC)" if purse.resets_at else "the first of next month"
            yield (
                f"wait until {when}, when the crawl may spend again, or raise dollars under [service] of {file}: {spent} on "
                f"{purse.of} in {ended.now:%B} {SPENT}"
            )


def _is_used_up(plan: CrawlPlan, planned: ServicePlan, purse: BudgetStatus, ended: Ended) -> bool:
    left = thousandths(planned.dollars) - thousandths(purse.spent) - thousandths(purse.reserved)
    cost = cheapest(plan, planned, ended.waiting)
    return cost is not None and left < cost


def _paying(plan: CrawlPlan, again: Again, ended: Ended, *, is_raised: bool) -> tuple[tuple[str, ...], str]:
    """The options without which the next start asks whether it may spend, and what they agree to."""
    wish, agreed = wish_of(plan), ended.agreed
    if wish is None or (not is_raised and agreed is not None and wish.is_within(agreed)):
        return (), ""
    if is_raised:
        return ("--yes",), "--yes agrees to the new amount"
    if rest := _rest(plan, wish, agreed, ended):
        return ("--dollars", f"{dollars(rest):g}"), "spends what is left of what was agreed to"
    if again.dollars:
        return ("--dollars", f"{again.dollars:g}", "--yes"), f"spends up to {in_dollars(thousandths(again.dollars))} more"
    return ("--yes",), f"--yes agrees that {may_spend(plan)}"


def _rest(plan: CrawlPlan, wish: Wish, agreed: Wish | None, ended: Ended) -> int:
    """What is left of what was agreed to, in thousandths of a dollar, if it can pay for anything."""
    if agreed is None or agreed.in_all is None or wish.a_month > agreed.a_month:
        return 0
    own = own_purse(ended.purses, plan.name)
    rest = agreed.in_all - (thousandths(own.spent) if own else 0)
    tight = structs.replace(plan, dollars=dollars(max(0, rest)))
    costs = [cheapest(tight, each, ended.waiting) for each in paid_services(plan)]
    return rest if any(cost is not None and cost <= rest for cost in costs) else 0
