"""How good a collection is by the grading of Wang and others: labels of hashtags give posts a grade, and methods their noise.

A hashtag that taggers call related counts +3, possibly related +1, unrelated -3, unknown 0; one that never was a keyword -1. A
post is related when the sum of its hashtags is above 0. Labels of several taggers are averaged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.model.terms import term_form
from bowerbird.ports import Transaction

SCORES: Mapping[str, int] = {"related": 3, "possibly": 1, "unrelated": -3, "unknown": 0}
SHORT = {"r": "related", "p": "possibly", "n": "unrelated", "u": "unknown"}
OTHER = -1
"""Of a hashtag that no method ever followed."""
CATEGORIES = ("C1", "C2", "C3", "C4")
_LABELS = "select term, tagger, label from keyword_labels where crawl = ? order by term, tagger"
_TERMS = "select distinct k.term, m.name from keywords k join keyword_methods m on m.method = k.method where k.crawl = ?"
_POSTS = """
select k.post_no, k.methods, t.tag from keyword_posts k join posts p on p.post_no = k.post_no
left join post_tags t on t.post_no = k.post_no where k.crawl = ? and p.deleted_at is null order by k.post_no
"""
_BITS = "select name, bit from keyword_methods where crawl = ? order by bit"


class MethodGrade(Struct, frozen=True, kw_only=True):
    """What one method collected, graded."""

    method: str
    related: int
    noise: int
    precision: float | None
    retained: dict[str, float | None]
    """By category: the part of all keywords of all methods that this one followed, seeds included; None: there are none."""


class Graded(Struct, frozen=True, kw_only=True):
    """A collection measured by its labels."""

    taggers: list[str]
    labelled: int
    unlabelled: list[str]
    """Keywords without a label: they count as unknown."""
    agreement: float | None
    """Pairs of labels for the same term that are the same; None: nobody labelled what another did."""
    alpha: float | None
    """Krippendorff's alpha: the same beyond chance, 1 at best."""
    categories: dict[str, int]
    methods: list[MethodGrade]


def checked_label(written: str) -> str:
    said = written.strip().lower()
    label = SHORT.get(said, said)
    if label not in SCORES:
        raise UserError(f"unknown label {written!r}{meant(label, SCORES)}; write one of {listed(SCORES)}")
    return label


def category(score: float) -> str:
    """C1 related, C2 possibly, C3 unrelated, C4 nobody knows; by the average of all taggers."""
    if score == 0:
        return "C4"
    return "C3" if score < 0 else "C1" if score >= 2 else "C2"


def agreement(labels: Mapping[str, Sequence[str]]) -> tuple[float | None, float | None]:
    """Of the labels that several gave to the same terms: the share of pairs that agree, and Krippendorff's alpha. Pure."""
    units = [given for given in labels.values() if len(given) > 1]
    pairs = [(one, other) for given in units for one, other in combinations(given, 2)]
    if not pairs:
        return None, None
    agreed = sum(one == other for one, other in pairs) / len(pairs)
    values = Counter(label for given in units for label in given)
    total = sum(values.values())
    apart = sum(
        sum(one != other for one, other in combinations(given, 2)) * 2 / (len(given) - 1) for given in units
    )  # fmt: skip
    by_chance = (total * total - sum(count * count for count in values.values())) / (total - 1)
    return agreed, 1 - apart / by_chance if by_chance else 1.0


async def grade(tx: Transaction, crawl: int) -> Graded:
    """The report; raises `UserError` where nobody has labelled anything."""
    given: defaultdict[str, list[str]] = defaultdict(list)
    taggers: dict[str, None] = {}
    for row in await tx.fetch(_LABELS, crawl):
        given[row["term"]].append(row["label"])
        taggers[row["tagger"]] = None
    if not given:
        raise UserError("no keyword has a label yet: give a file with --labels, or run it in a terminal and answer")
    followed: defaultdict[str, set[str]] = defaultdict(set)
    for row in await tx.fetch(_TERMS, crawl):
        followed[row["name"]].add(row["term"])
    everyone = set().union(*followed.values())
    scores = {term: sum(map(SCORES.__getitem__, labels)) / len(labels) for term, labels in given.items()}
    agreed, alpha = agreement(given)
    kinds = {term: category(scores.get(term, 0.0)) for term in everyone}
    posts = await _posts(tx, crawl)
    bits = {row["name"]: row["bit"] for row in await tx.fetch(_BITS, crawl)}
    related = [(mask, sum(scores.get(tag, 0.0) if tag in everyone else OTHER for tag in tags) > 0) for mask, tags in posts]
    return Graded(
        taggers=list(taggers),
        labelled=len(given),
        unlabelled=sorted(everyone - given.keys()),
        agreement=agreed,
        alpha=alpha,
        categories={each: sum(kind == each for kind in kinds.values()) for each in CATEGORIES},
        methods=[_method(name, bit, related, followed[name], kinds) for name, bit in bits.items()],
    )


async def _posts(tx: Transaction, crawl: int) -> list[tuple[int, set[str]]]:
    """Methods and hashtags of each collected post."""
    found: dict[int, tuple[int, set[str]]] = {}
    for row in await tx.fetch(_POSTS, crawl):
        post = found.setdefault(row["post_no"], (row["methods"], set()))
        if row["tag"] is not None:
            post[1].add(term_form(f"#{row['tag']}"))
    return list(found.values())


def _method(name: str, bit: int, posts: Iterable[tuple[int, bool]], followed: set[str], kinds: Mapping[str, str]) -> MethodGrade:
    own = [is_related for mask, is_related in posts if mask >> bit & 1]
    totals = Counter(kinds.values())
    mine = Counter(kinds[term] for term in followed)
    return MethodGrade(
        method=name,
        related=sum(own),
        noise=len(own) - sum(own),
        precision=sum(own) / len(own) if own else None,
        retained={each: mine[each] / totals[each] if totals[each] else None for each in CATEGORIES},
    )
