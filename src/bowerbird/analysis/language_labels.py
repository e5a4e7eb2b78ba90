"""Label posts and accounts with their language, and accounts with their variety of Portuguese.

Both classifiers see one page at a time, in the transaction that saves it. An account is labelled by
its posts on that page: three or more are needed, and the label by more posts replaces the label by
fewer. Reposts are the words of others and do not count. Accounts that opted out get no label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from bowerbird.analysis.languages import (
    MIN_SET_POSTS,
    SECOND_SHARE,
    SEVERAL,
    VERSION,
    Identifier,
    SetLanguages,
)
from bowerbird.analysis.variety import VERSION as VARIETY_VERSION
from bowerbird.analysis.variety import Variety, classify_variety
from bowerbird.model import Judgement, PostKind, Ruling, Seen, Subject

BY_TEXT = "text"
BY_POSTS = {"few posts": MIN_SET_POSTS, "some posts": 10, "many posts": 30}
"""Reasons for the label of an account, by the number of its posts, the weakest first."""
_SHOWN_HINTS = 5

Evidence = Mapping[str, str | float | None]
Label = tuple[str, float, Evidence]
"""A value, its confidence, and its evidence."""
Reviewed = Mapping[tuple[Subject, str], frozenset[str]]
Posts = Sequence[tuple[str, str]]
"""Stored id and text of the posts of one author."""


class LanguageClassifier:
    """Labels posts and accounts with their language; implements `ports.Judge`.

    The prior of the stream is estimated from the posts that this process has labelled, and is flat
    before there are 200. It is not stored: processes of one crawl need no coordination.
    """

    name = "language"
    version = VERSION

    def __init__(self, identifier: Identifier) -> None:
        self._identifier = identifier

    def judge(self, seen: Seen) -> Ruling:
        authors = _own_posts(seen)
        self._identifier.observe(text for posts in authors.values() for _, text in posts)
        labels: list[Judgement] = []
        for author, posts in authors.items():
            texts = [text for _, text in posts]
            for (post, _), language in zip(posts, self._identifier.identify(texts), strict=True):
                if language.language is not None:
                    labels.append(
                        Judgement(
                            subject=Subject.POST,
                            id=post,
                            value=language.language,
                            reason=BY_TEXT,
                            confidence=round(language.confidence, 4),
                            evidence={
                                "prior": round(language.prior, 4),
                                "stream_posts": self._identifier.stream_posts,
                            },
                        )
                    )
            if len(posts) >= MIN_SET_POSTS:
                labels += _label_account(author, len(posts), _language_labels(self._identifier.identify_set(texts)))
        reviewed: Reviewed = {(Subject.POST, post): frozenset({BY_TEXT}) for posts in authors.values() for post, _ in posts}
        return Ruling(judgements=tuple(labels), reviewed={**reviewed, **_reviewed_accounts(seen, authors)})


class VarietyClassifier:
    """Labels accounts that write Portuguese with its variety; implements `ports.Judge`."""

    name = "variety"
    version = VARIETY_VERSION

    def __init__(self, identifier: Identifier) -> None:
        self._identifier = identifier

    def judge(self, seen: Seen) -> Ruling:
        authors = _own_posts(seen)
        labels: list[Judgement] = []
        for author, posts in authors.items():
            if len(posts) >= MIN_SET_POSTS:
                texts = [text for _, text in posts]
                variety = classify_variety(texts, self._identifier.identify_set(texts))
                labels += _label_account(author, len(posts), _variety_labels(variety))
        return Ruling(judgements=tuple(labels), reviewed=_reviewed_accounts(seen, authors))


def create_classifiers(names: Collection[str]) -> Sequence[LanguageClassifier | VarietyClassifier]:
    """Return the classifiers of these names. They share the scores of posts, which take the time."""
    identifier = Identifier()
    classifiers = (LanguageClassifier(identifier), VarietyClassifier(identifier))
    return [each for each in classifiers if each.name in names]


def _own_posts(seen: Seen) -> Mapping[str, Posts]:
    """Posts that a page may speak for, by their author's stored id."""
    authors: dict[str, list[tuple[str, str]]] = {}
    for post_id, author, post in seen.posts():
        profile = seen.profiles.get(author)
        is_hidden = author in seen.hidden or (profile is not None and profile.opts_out)
        if post.kind is not PostKind.REPOST and post.text and not is_hidden:
            authors.setdefault(author, []).append((post_id, post.text))
    return authors


def _language_labels(languages: SetLanguages) -> Iterator[Label]:
    """A set in several languages has a label for each of them, and the label `several`."""
    shares = ", ".join(f"{name} {share:.0%}" for name, share in languages.shares.items())
    evidence: Evidence = {"posts": languages.posts, "identified": languages.identified, "shares": shares}
    if languages.language == SEVERAL:
        yield SEVERAL, 1.0 - max(languages.shares.values()), evidence
        for name, share in languages.shares.items():
            if share >= SECOND_SHARE:
                yield name, share, evidence
    elif languages.language is not None:
        yield languages.language, languages.shares[languages.language], evidence


def _variety_labels(variety: Variety) -> Iterator[Label]:
    if variety.variety is not None:
        largest = variety.evidence[:_SHOWN_HINTS]
        hints = "; ".join(f"{each.hint} {each.weight:+.1f} ({', '.join(each.examples)})" for each in largest)
        yield variety.variety, variety.confidence, {"score": variety.score, "posts": variety.posts, "hints": hints}


def _label_account(author: str, posts: int, labels: Iterator[Label]) -> Iterator[Judgement]:
    strength = _strength(posts)
    for value, confidence, evidence in labels:
        yield Judgement(
            subject=Subject.USER,
            id=author,
            value=value,
            reason=tuple(BY_POSTS)[strength - 1],
            confidence=round(confidence, 4),
            strength=strength,
            evidence=evidence,
        )


def _reviewed_accounts(seen: Seen, authors: Mapping[str, Posts]) -> Reviewed:
    """Labels by as many or fewer posts are withdrawn if they are not repeated; by more posts never."""
    reviewed = {(Subject.USER, author): frozenset(tuple(BY_POSTS)[: _strength(len(posts))]) for author, posts in authors.items()}
    opted_out = {(Subject.USER, user): frozenset(BY_POSTS) for user, profile in seen.accounts() if profile.opts_out}
    return reviewed | opted_out


def _strength(posts: int) -> int:
    return sum(posts >= least for least in BY_POSTS.values())
