"""How well is it told who belongs to a community, by profiles alone and by everything?

A simulated world has people of twelve nations who fill in their profiles as people do: towns, nicknames, jokes, nothing at all,
misspelt or twice; time zones that a device set; names that are none; and some live abroad, or write in another language. The
judge knows none of the world's tables, and the world none of the judge's. Candidates are found as TwitterEcho found them: among
those whom members mention, and who follow members.

The published figures are of people, judged by hand: 500 said to be Portuguese, and 800 said not to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from bowerbird.analysis.community.describing import example
from bowerbird.analysis.community.judge import NOTHING, POSTS, Examiner
from bowerbird.analysis.community.relations import Example, RelationModel, estimated
from bowerbird.analysis.community.signs import Verdict
from bowerbird.evaluate.nationality.candidates import Candidate, Scene
from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Neighbours

PUBLISHED = {"precision_yes": 0.908, "precision_no": 0.995, "recall": 0.7, "undecided_by_profile": 0.2, "undecided": 0.23}
"""TwitterEcho's own (Oliveira 2011, sections 3.4.3 and 5.2.1); recall and the last are estimated from its counts."""
LEAST = {"precision_yes": 0.95, "precision_no": 0.995, "recall": 0.85}
HELD_OUT = (301, 302, 303)
"""Seeds of worlds that nothing was tried on; with others the same is measured for those who change the judge."""

Say = Callable[[str], None]
Verdicts = Mapping[int, Verdict]
Read = Mapping[int, tuple[Verdict, int]]
"""Verdicts, and of how many posts each."""


def evaluate_nationality(
    cache: Path, *, accounts: int = 30_000, candidates: int = 2_000, seeds: Sequence[int] = HELD_OUT, say: Say = print
) -> dict[str, Any]:
    """Figures of both rules, each after profiles and after everything, over all worlds together."""
    told: dict[str, list[dict[str, Any]]] = {"echo": [], "ours": []}
    for seed in seeds:
        scene = Scene(seed, accounts)
        people = scene.candidates(candidates)
        for rule, found in told.items():
            found.append(_measured(rule, scene, people, cache))
            say(f"seed {seed}, {rule}: {_line(found[-1]['everything'])}")
    figures = {rule: _together(found) for rule, found in told.items()}
    ours = figures["ours"]["everything"]
    return {
        "accounts": accounts,
        "candidates": candidates,
        "seeds": list(seeds),
        **figures,
        "published": PUBLISHED,
        "least": LEAST,
        "is_good": all(ours[name] >= least for name, least in LEAST.items()),
    }


def _measured(rule: str, scene: Scene, people: Sequence[Candidate], cache: Path) -> dict[str, Any]:
    examiner = Examiner(structs.replace(example("PT"), rule="echo" if rule == "echo" else "weighed"), cache)
    by_profile = {each.account: examiner.verdict(each.user, NOTHING, {})[0] for each in people}
    asked = people if rule == "ours" else [each for each in people if by_profile[each.account].value == UNDECIDED]
    read = {each.account: examiner.verdict(each.user, scene.written(each.account), {}) for each in asked}
    by_posts = by_profile | {account: verdict for account, (verdict, _) in read.items()}
    everything = by_posts if rule == "echo" else _looked_around(examiner, scene, people, read)
    truth = {each.account: each.belongs for each in people}
    return {
        "profile": counts_of(by_profile, truth),
        "posts": counts_of(by_posts, truth),
        "everything": counts_of(everything, truth),
        "abroad": counts_of({each.account: everything[each.account] for each in people if each.is_abroad}, truth),
    }


def _looked_around(examiner: Examiner, scene: Scene, people: Sequence[Candidate], read: Read) -> Verdicts:
    """The third look: those still undecided by their judged neighbours, with weights estimated from those decided."""
    values = {account: verdict.value for account, (verdict, _) in read.items()}
    around = {each.account: scene.neighbours(each.account, values) for each in people}
    model = _model(around, values)
    found = {account: verdict for account, (verdict, _) in read.items()}
    for each in people:
        sign = model.sign(around[each.account]) if values[each.account] == UNDECIDED else None
        if sign is not None:
            verdict, posts = read[each.account]
            found[each.account] = examiner.verdict(each.user, NOTHING, {**verdict.evidence, POSTS: posts}, sign)[0]
    return found


def _model(around: Mapping[int, Neighbours], values: Mapping[int, str]) -> RelationModel:
    decided = [account for account, value in values.items() if value != UNDECIDED]
    return estimated([Example(around[account], values[account] == YES) for account in decided])


def counts_of(verdicts: Verdicts, truth: Mapping[int, bool]) -> dict[str, Any]:
    """How many of each value are right, and the shares that follow."""
    counts = {
        f"{value} {'member' if belongs else 'other'}": sum(
            verdict.value == value and truth[account] is belongs for account, verdict in verdicts.items()
        )
        for value in (YES, NO, UNDECIDED)
        for belongs in (True, False)
    }
    return {**shares_of(counts), "counts": counts}


def shares_of(counts: Mapping[str, int]) -> dict[str, float]:
    yes, no = counts["yes member"] + counts["yes other"], counts["no member"] + counts["no other"]
    undecided = counts["undecided member"] + counts["undecided other"]
    members = sum(count for name, count in counts.items() if name.endswith("member"))
    return {
        "precision_yes": _share(counts["yes member"], yes),
        "precision_no": _share(counts["no other"], no),
        "recall": _share(counts["yes member"], members),
        "undecided": _share(undecided, yes + no + undecided),
        "belong_of_undecided": _share(counts["undecided member"], undecided),
        "belong": _share(members, yes + no + undecided),
    }


def _together(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All worlds as one."""
    stages = {}
    for stage in found[0]:
        counts = {name: sum(each[stage]["counts"][name] for each in found) for name in found[0][stage]["counts"]}
        stages[stage] = {**shares_of(counts), "counts": counts}
    return stages


def _share(part: int, whole: int) -> float:
    return round(part / max(1, whole), 4)


def _line(figures: Mapping[str, float]) -> str:
    named = ("precision_yes", "precision_no", "recall", "undecided")
    return ", ".join(f"{name.replace('_', ' of ', 1)} {figures[name]:.3f}" for name in named)
