"""Decisions about a community and about one account as text."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.cli.screens.amounts.numbers import many
from bowerbird.cli.screens.output import Output, printable
from bowerbird.model.command_lines import command_line
from bowerbird.model.subjects.community import VALUES, Neighbours
from bowerbird.reports.community.people import Person, Which
from bowerbird.reports.community.reading import CommunityCounts, Said, share_of_mentioned
from bowerbird.reports.community.wording import signs_of, sure_words

_SIGNS = 2
_UNCOUNTED = "The module mentions counts whom members mention:"
_REASONS = ("profile", "posts", "relations", "person")


def show_community(output: Output, counts: CommunityCounts) -> None:
    rows = [(value, counts.values[value], *(counts.reasons[value].get(each, 0) for each in _REASONS)) for value in VALUES]
    output.table("decisions by what decided", ("", "accounts", *_REASONS), rows)
    share = share_of_mentioned(counts.mentioned)
    if share is not None:
        output.line(f"Members among the decided accounts that members mention: {share:.0%}.")
    if counts.missed is not None:
        output.line(_missed(counts))
    if counts.learned is None:
        output.line("Nothing was learned yet. A running crawl learns every half hour, from 50 judged accounts on.")
    else:
        examples, persons, prior = (counts.learned[name] for name in ("examples", "persons", "prior"))
        output.line(f"Share of members among judged accounts (prior): {prior:.0%}.")
        output.line(f"Weights of neighbours were estimated from {examples:,} accounts, {persons:,} of them decided by people.")


def _missed(counts: CommunityCounts) -> str:
    missed = counts.missed
    if missed is None or not missed.looked_at:
        waiting = missed.waiting if missed else 0
        return f"{many(waiting, 'candidate')} waiting. None of the randomly chosen ones was read yet: there is no estimate."
    low, high = missed.expected
    share = f"Members among {missed.looked_at:,} chosen at random: {missed.belong:,} ({missed.low:.0%} to {missed.high:.0%})"
    estimate = f", so {low:,} to {high:,} among those that wait" if missed.waiting else ""
    return f"{many(missed.waiting, 'candidate')} waiting. {share}{estimate}."


def show_people(output: Output, which: Which, people: Sequence[Person], store: str) -> None:
    if not people:
        count = f" {_UNCOUNTED} {command_line('modules', store, 'run', 'mentions')}"
        output.line("Nobody." + (count if which.is_by_mentions else ""))
        return
    heads = ("account", "decision", "confidence", *(("mentions",) if which.is_by_mentions else ()), "strongest signs")
    output.table("", heads, [_person(each, which) for each in people])


def _person(each: Person, which: Which) -> tuple[str, ...]:
    signs = (
        f"{sign.what}{': ' if sign.found else ''}{sign.found} ({sign.weight:+.1f})" for sign in signs_of(each.evidence)[:_SIGNS]
    )
    mentions = (f"{each.mentions or 0:,}",) if which.is_by_mentions else ()
    sure = "" if each.confidence is None else f"{each.confidence:.0%} {sure_words(each.value)}"
    said = (each.value or "not judged") + (f", by {each.decided_by}" if each.decided_by else "")
    return printable(f"@{each.handle}" if each.handle else each.id), printable(said), sure, *mentions, printable("; ".join(signs))


def show_why(output: Output, who: str, now: Sequence[Said], before: Sequence[Said], around: Neighbours | None) -> None:
    if not now:
        output.line(f"There is no decision about {printable(who)} now.")
    for said in now:
        confidence = "" if said.value == "undecided" else f" ({said.confidence:.0%})"
        output.line(f"{printable(who)}: {said.value}{confidence}, {_by(said)} at {said.at:%Y-%m-%d %H:%M}")
        probability, prior = said.evidence.get("probability"), said.evidence.get("prior")
        if isinstance(probability, int | float) and isinstance(prior, int | float):
            output.line(f"Probability of membership: {probability:.1%} (prior {prior:.1%}).")
        rows = [(sign.what, f"{sign.weight:+.1f}", printable(sign.found)) for sign in signs_of(said.evidence)]
        log_odds = said.evidence.get("log_odds")
        if rows and isinstance(log_odds, int | float):
            rows.append(("sum", f"{log_odds:+.1f}", ""))
        if rows:
            output.table("", ("sign", "weight", "found"), rows)
        if note := said.evidence.get("note"):
            output.line(f"Note: {printable(note)}")
    if around is not None:
        output.line(
            "Judged accounts around it: "
            f"followed by {many(around.followed_in, 'member')} and {many(around.followed_out, 'other')}, "
            f"mentioned by {around.mentioned_in:,} and {around.mentioned_out:,}, "
            f"follows {around.follows_in:,} and {around.follows_out:,}."
        )
    former = [(f"{said.at:%Y-%m-%d %H:%M}", said.value, _by(said), said.version) for said in before]
    if former:
        output.table("earlier decisions", ("since", "value", "by", "version"), former)


def _by(said: Said) -> str:
    return f"decided by {printable(said.decided_by)}" if said.decided_by else f"judged by {said.reason}"
