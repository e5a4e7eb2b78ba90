"""How good a collection is: the labels, keywords and posts of a store, graded as by Wang and others."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import UserError
from bowerbird.keywords.grading import (
    Category,
    Scores,
    agreement,
    category_of,
    is_related,
    parse_category,
    score_terms,
    share_retained,
)
from bowerbird.model.terms import term_form
from bowerbird.ports import Transaction

_LABELS = "select term, tagger, label from keyword_labels where crawl = ? order by term, tagger"
_TERMS = "select distinct k.term, m.name from keywords k join keyword_methods m on m.method = k.method where k.crawl = ?"
_POSTS = """
select k.post_no, k.methods, k.frame, t.tag from (
    select k.post_no, k.methods, k.frame from keyword_posts k join posts p on p.post_no = k.post_no
    where k.crawl = ? and k.post_no > ? and p.deleted_at is null order by k.post_no limit ?
) k left join post_tags t on t.post_no = k.post_no order by k.post_no
"""
_UNLABELLED = """
select distinct term from keywords k where crawl = ?
and not exists (select 1 from keyword_labels l where l.crawl = k.crawl and l.term = k.term and l.tagger = ?) order by term
"""
_BITS = "select name, bit from keyword_methods where crawl = ? order by bit"
_BATCH = 5_000

_Posts = Counter[tuple[int | None, int, bool]]
"""Posts by frame (none: caught up later), by the methods that collected them, and by whether they are related."""


class FrameGrade(Struct, frozen=True, kw_only=True):
    """What a method collected in one frame, graded."""

    frame: datetime
    related: int
    noise: int


class MethodGrade(Struct, frozen=True, kw_only=True):
    """What one method collected, graded."""

    method: str
    related: int
    noise: int
    precision: float | None
    retained: dict[str, float]
    """By category and over `all`: the part of all keywords of all methods that this one followed, seeds included; a category of
    which there are none is left out."""
    frames: list[FrameGrade]
    """Frame by frame; what was caught up later is in none."""


class Graded(Struct, frozen=True, kw_only=True):
    """A collection measured by its labels."""

    taggers: list[str]
    labelled: int
    unlabelled: list[str]
    """Keywords without a label: they count as unknown."""
    unknown: list[str]
    """Labelled terms that were never keywords of the crawl: misspelled, or of another crawl."""
    agreement: float | None
    """Pairs of labels for the same term that are the same; None: no term has two labels."""
    alpha: float | None
    """Krippendorff's alpha: the same beyond chance, 1 at best."""
    categories: dict[str, int]
    methods: list[MethodGrade]


async def read_unlabelled(tx: Transaction, crawl: int, tagger: str) -> list[str]:
    """Return the keywords that a tagger has not labelled."""
    return [row["term"] for row in await tx.fetch(_UNLABELLED, crawl, tagger)]


async def grade(tx: Transaction, crawl: int) -> Graded:
    """Grade the posts of a crawl; raises `UserError` without labels."""
    labels = await tx.fetch(_LABELS, crawl)
    if not labels:
        raise UserError(
            "No keyword has a label yet. Use --labels with a file, or run this in a terminal and answer the questions."
        )
    given: defaultdict[str, list[Category]] = defaultdict(list)
    for row in labels:
        given[row["term"]].append(parse_category(row["label"]))
    followed: defaultdict[str, set[str]] = defaultdict(set)
    for row in await tx.fetch(_TERMS, crawl):
        followed[row["name"]].add(row["term"])
    everyone = set().union(*followed.values())
    scores = score_terms(given, everyone)
    kinds = {term: category_of(score) for term, score in scores.items()}
    counts, posts = Counter(kinds.values()), await _graded_posts(tx, crawl, scores)
    agreed, alpha = agreement(given.values())
    return Graded(
        taggers=sorted({row["tagger"] for row in labels}),
        labelled=len(given),
        unlabelled=sorted(everyone - given.keys()),
        unknown=sorted(given.keys() - everyone),
        agreement=agreed,
        alpha=alpha,
        categories={each.value: counts[each] for each in Category},
        methods=[
            _method(row["name"], row["bit"], posts, share_retained(kinds, everyone, followed[row["name"]]))
            for row in await tx.fetch(_BITS, crawl)
        ],
    )


async def _graded_posts(tx: Transaction, crawl: int, scores: Scores) -> _Posts:
    """How many collected posts are related and how many are not."""
    counts: _Posts = Counter()
    last = 0
    while rows := await tx.fetch(_POSTS, crawl, last, _BATCH):
        last = rows[-1]["post_no"]
        for (_, mask, frame), tags in groupby(rows, key=itemgetter("post_no", "methods", "frame")):
            terms = [term_form(f"#{row['tag']}") for row in tags if row["tag"] is not None]
            counts[frame, mask, is_related(terms, scores)] += 1
    return counts


def _method(name: str, bit: int, posts: _Posts, shares: dict[str, float]) -> MethodGrade:
    frames: defaultdict[int | None, Counter[bool]] = defaultdict(Counter)
    for (frame, mask, is_hit), count in posts.items():
        if mask >> bit & 1:
            frames[frame][is_hit] += count
    related, noise = (sum(each[kind] for each in frames.values()) for kind in (True, False))
    return MethodGrade(
        method=name,
        related=related,
        noise=noise,
        precision=related / (related + noise) if related + noise else None,
        retained=shares,
        frames=[
            FrameGrade(frame=from_micros(frame), related=frames[frame][True], noise=frames[frame][False])
            for frame in sorted(each for each in frames if each is not None)
        ],
    )
