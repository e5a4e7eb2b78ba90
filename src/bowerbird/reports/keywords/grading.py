"""Grade the collection of a crawl by labels of its keywords, as Wang and others did."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from bowerbird.analysis.agreement import measure_agreement
from bowerbird.clock import from_micros
from bowerbird.errors import UserError
from bowerbird.keywords.grading import Category, PostGrader, category_of, parse_category, score_terms, share_retained
from bowerbird.model.terms import read_text
from bowerbird.ports import Transaction
from bowerbird.store.posts.by_id import is_same

_LABELS = "select term, tagger, label from keyword_labels where crawl = ? order by term, tagger"
_TERMS = "select distinct k.term, m.name from keywords k join keyword_methods m on m.method = k.method where k.crawl = ?"
# A repost has the text of the post that it repeats.
_POSTS = f"""
select k.post_no, k.methods, k.frame, k.text, k.handle, t.tag from (
    select k.post_no, k.methods, k.frame, coalesce(p.text, o.text) as text, u.handle
    from keyword_posts k join posts p on p.post_no = k.post_no join users u on u.user_no = p.author
    left join posts o on p.repost_of is not null and {is_same("o.id", "p.repost_of")} and o.deleted_at is null
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
    """Share of the pairs of labels for the same term that are equal; None: no term has two labels."""
    kappa: float | None
    """The same beyond chance, at most 1: Cohen's for two taggers, Fleiss' for more."""
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
            "No keyword has a label yet.",
            "Use --labels with a file, or run this in a terminal and answer the questions.",
            code="needs_terminal",
        )
    given: defaultdict[str, dict[str, Category]] = defaultdict(dict)
    for row in labels:
        given[row["term"]][row["tagger"]] = parse_category(row["label"])
    followed: defaultdict[str, set[str]] = defaultdict(set)
    for row in await tx.fetch(_TERMS, crawl):
        followed[row["name"]].add(row["term"])
    everyone = set().union(*followed.values())
    scores = score_terms({term: by_tagger.values() for term, by_tagger in given.items()}, everyone)
    kinds = {term: category_of(score) for term, score in scores.items()}
    counts, posts = Counter(kinds.values()), await _graded_posts(tx, crawl, PostGrader(scores))
    agreed = measure_agreement(list(given.values()))
    return Graded(
        taggers=sorted({row["tagger"] for row in labels}),
        labelled=len(given),
        unlabelled=sorted(everyone - given.keys()),
        unknown=sorted(given.keys() - everyone),
        agreement=agreed.alike if agreed is not None else None,
        kappa=agreed.kappa if agreed is not None else None,
        categories={each.value: counts[each] for each in Category},
        methods=[
            _method(row["name"], row["bit"], posts, share_retained(kinds, everyone, followed[row["name"]]))
            for row in await tx.fetch(_BITS, crawl)
        ],
    )


async def _graded_posts(tx: Transaction, crawl: int, grader: PostGrader) -> _Posts:
    """Count the collected posts that are related, and those that are not."""
    counts: _Posts = Counter()
    last = 0
    while rows := await tx.fetch(_POSTS, crawl, last, _BATCH):
        last = rows[-1]["post_no"]
        for _, group in groupby(rows, key=itemgetter("post_no")):
            found = list(group)
            post, tags = found[0], [row["tag"] for row in found if row["tag"] is not None]
            is_hit = grader.is_related(read_text(post["text"] or "", tags, post["handle"] or ""))
            counts[post["frame"], post["methods"], is_hit] += 1
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
