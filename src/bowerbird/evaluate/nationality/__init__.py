"""How well are members told from others, by profiles alone and by everything that a crawl reads?

**Worlds.** A simulated world has people of twelve nations who fill in their profiles as people do: towns, nicknames, jokes,
nothing at all, misspelt or twice; time zones that a device set; names that are none; and some live abroad, or write in another
language. The classifier knows none of the world's tables, and the world none of the classifier's. Candidates are found as
TwitterEcho found them: among those whom members mention, and who follow members. The prior and the weights of neighbours are
estimated from the decisions, as in a crawl, never from labels. Posts are read of accounts that the profile does not exclude.

**Real profiles.** See `real.py`.

The published figures are of people, judged by hand: 500 said to be Portuguese, and 800 said not to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from bowerbird.community.classifier import CommunityClassifier
from bowerbird.community.countries import example
from bowerbird.community.membership import Verdict, decide, estimate_prior
from bowerbird.community.relations import Example, fit_relations, relation_sign
from bowerbird.evaluate.nationality.candidates import Candidate, Scene
from bowerbird.evaluate.nationality.figures import Case, figures_of
from bowerbird.evaluate.nationality.real import evaluate_sources
from bowerbird.model.subjects.community import CALIBRATED, ECHO, NO, UNDECIDED, YES

PUBLISHED = {"decided_by_profile": 0.8, "decided": 0.77, "precision_yes": 0.908, "precision_no": 0.995, "recall": 0.7}
"""TwitterEcho's own (Oliveira 2011, sections 3.4.3 and 5.2.1); recall and `decided` are estimated from its counts."""
TARGETS = {"decided_by_profile": 0.75, "decided": 0.9, "precision_yes": 0.95, "precision_no": 0.995, "recall": 0.9}
HELD_OUT = (301, 302, 303)
"""Seeds of worlds that nothing was tried on; use others to develop."""
STAGES = ("profile", "posts", "everything", "abroad")

Say = Callable[[str], None]
Verdicts = Mapping[int, Verdict]
"""By account."""


def evaluate_nationality(
    cache: Path,
    *,
    data: Path | None = None,
    accounts: int = 30_000,
    candidates: int = 2_000,
    seeds: Sequence[int] = HELD_OUT,
    say: Say = print,
) -> dict[str, Any]:
    """Return the figures of our rule, and of both rules in the worlds and on real profiles."""
    if data is None or not data.is_dir():
        say("No evaluation data: worlds only. Name the folder with --data.")
    cases: dict[str, dict[str, list[Case]]] = {rule: {stage: [] for stage in STAGES} for rule in ("echo", "ours")}
    for seed in seeds:
        scene = Scene(seed, accounts)
        people = scene.candidates(candidates)
        for rule, stages in cases.items():
            world = _echo_stages(scene, people, cache) if rule == "echo" else _our_stages(scene, people, cache)
            for stage, verdicts in world.items():
                stages[stage] += [Case(verdicts[each.account], each.belongs) for each in people if each.account in verdicts]
            stages["abroad"] += [Case(world["everything"][each.account], each.belongs) for each in people if each.is_abroad]
            say(f"seed {seed}, {rule}: {_line(figures_of(stages['everything']))} so far")
    worlds = {rule: {stage: figures_of(found) for stage, found in stages.items()} for rule, stages in cases.items()}
    everything = worlds["ours"]["everything"]
    figures = {name: everything[name] for name in ("decided", "precision_yes", "precision_no", "recall", "brier", "reliability")}
    figures["decided_by_profile"] = worlds["ours"]["profile"]["decided"]
    sources: dict[str, Any] = {}
    if data is not None and data.is_dir():
        sources = evaluate_sources(data, cache)
        for name, each in sources.items():
            say(f"{name}, ours: {_line(each['ours'])}; echo: {_line(each['echo'])}")
    return {
        "accounts": accounts,
        "candidates": candidates,
        "seeds": list(seeds),
        **figures,
        "worlds": worlds,
        "sources": sources,
        "published": PUBLISHED,
        "targets": TARGETS,
        "is_good": all((figures[name] or 0.0) >= least for name, least in TARGETS.items()),
    }


def _echo_stages(scene: Scene, people: Sequence[Candidate], cache: Path) -> dict[str, Verdicts]:
    classifier = CommunityClassifier(structs.replace(example("PT"), rule=ECHO), cache)
    by_profile = {each.account: classifier.verdict(each.user, (), {}) for each in people}
    by_posts = {
        each.account: classifier.verdict(each.user, scene.posts(each.account), {})
        for each in people
        if by_profile[each.account].value == UNDECIDED
    }
    return {"profile": by_profile, "posts": by_profile | by_posts, "everything": by_profile | by_posts}


def _our_stages(scene: Scene, people: Sequence[Candidate], cache: Path) -> dict[str, Verdicts]:
    classifier = CommunityClassifier(structs.replace(example("PT"), rule=CALIBRATED), cache)
    by_profile = _with_prior(classifier, {each.account: classifier.verdict(each.user, (), {}) for each in people})
    by_posts = {
        each.account: classifier.verdict(each.user, scene.posts(each.account), {})
        for each in people
        if by_profile[each.account].value != NO
    }
    by_posts = dict(_with_prior(classifier, {**by_profile, **by_posts}))
    return {"profile": by_profile, "posts": by_posts, "everything": _with_relations(classifier, scene, by_posts)}


def _with_prior(classifier: CommunityClassifier, verdicts: Verdicts) -> Verdicts:
    """The same signs with a prior estimated from them."""
    prior = estimate_prior([each.log_odds for each in verdicts.values()])
    return {account: decide(each.signs, classifier.community, prior) for account, each in verdicts.items()}


def _with_relations(classifier: CommunityClassifier, scene: Scene, own: Verdicts) -> Verdicts:
    """All accounts with their judged neighbours, twice: neighbours decided by that count the second time. `own`: by their own
    signs, from which the weights are estimated."""
    found = own
    for _ in range(2):
        values = {account: each.value for account, each in found.items()}
        around = {account: scene.neighbours(account, values) for account in own}
        examples = [Example(around[account], each.value == YES) for account, each in own.items() if each.value != UNDECIDED]
        weights = fit_relations(examples)
        signs = {account: relation_sign(around[account], weights) for account in own}
        found = {
            account: decide((*each.signs, sign), classifier.community, each.prior) if (sign := signs[account]) else each
            for account, each in own.items()
        }
    return _with_prior(classifier, found)


def _line(figures: Mapping[str, Any]) -> str:
    named = ("decided", "precision_yes", "precision_no", "recall", "brier")
    return ", ".join(f"{name.replace('_', ' of ', 1)} {figures[name]}" for name in named)
