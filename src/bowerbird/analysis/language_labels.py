"""Label posts and accounts with their language, and accounts with their variety of Portuguese.

Both classifiers see one page at a time, in the transaction that saves it. An account is labelled by
its posts on that page that have enough letters, or for a variety by the Portuguese ones: three or
more are needed, and the label by more posts replaces the label by fewer. Reposts are the words of
others and do not count. Accounts that opted out get no label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bowerbird.analysis.languages import MIN_SECOND_SHARE, MIN_SET_POSTS, SEVERAL, VERSION, Identifier, SetLanguages
from bowerbird.analysis.variety import MIXED, Variety, classify_variety
from bowerbird.analysis.variety import VERSION as VARIETY_VERSION
from bowerbird.model import Judgement, PostKind, Ruling, Seen, Subject

BY_TEXT = "text"
BY_POSTS = {"few posts": MIN_SET_POSTS, "some posts": 10, "many posts": 30}
"""Reasons for the label of an account, by the number of posts that counted, the weakest first."""
_REASONS = tuple(BY_POSTS)

Evidence = Mapping[str, str | float | None]
Label = tuple[str, float, Evidence]
"""A value, its confidence, and its evidence."""


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
        self._identifier.observe(text for posts in authors.values() for text in posts.values())
        labels: list[Judgement] = []
        counted: dict[str, int] = {}
        for author, posts in authors.items():
            texts = [*posts.values()]
            for post, language in zip(posts, self._identifier.identify(texts), strict=True):
                if language.language is not None:
                    label = Judgement(
                        subject=Subject.POST,
                        id=post,
                        value=language.language,
                        reason=BY_TEXT,
                        confidence=round(language.confidence, 4),
                        evidence={"prior": round(language.prior, 4), "stream_posts": self._identifier.stream_posts},
                    )
                    labels.append(label)
            languages = self._identifier.identify_set(texts)
            counted[author] = languages.identified
            labels += _label_account(seen, self.name, author, counted[author], _language_labels(languages))
        reviewed = {(Subject.POST, post): frozenset({BY_TEXT}) for posts in authors.values() for post in posts}
        return Ruling(judgements=tuple(labels), reviewed=reviewed | _reviewed_accounts(seen, counted))


class VarietyClassifier:
    """Labels accounts that write Portuguese with its variety; implements `ports.Judge`."""

    name = "variety"
    version = VARIETY_VERSION

    def __init__(self, identifier: Identifier) -> None:
        self._identifier = identifier

    def judge(self, seen: Seen) -> Ruling:
        labels: list[Judgement] = []
        counted: dict[str, int] = {}
        for author, posts in _own_posts(seen).items():
            texts = [*posts.values()]
            languages = self._identifier.identify_set(texts)
            variety = classify_variety(texts, languages)
            # A set that is not Portuguese withdraws the label of earlier, fewer posts.
            counted[author] = variety.posts or languages.identified
            labels += _label_account(seen, self.name, author, counted[author], _variety_labels(variety))
        return Ruling(judgements=tuple(labels), reviewed=_reviewed_accounts(seen, counted))


def create_classifiers(names: Collection[str]) -> Sequence[LanguageClassifier | VarietyClassifier]:
    """Return the classifiers of these names. They share the scores of posts, which take the time."""
    identifier = Identifier()
    classifiers = (LanguageClassifier(identifier), VarietyClassifier(identifier))
    return [each for each in classifiers if each.name in names]


def _own_posts(seen: Seen) -> Mapping[str, Mapping[str, str]]:
    """Return the texts that a page may speak for, by their author's and their own stored id."""
    opted_out = {user for user, profile in seen.profiles.items() if profile.opts_out}
    authors: dict[str, dict[str, str]] = {}
    for post_id, author, post in seen.posts():
        if post.kind is not PostKind.REPOST and post.text and author not in opted_out | seen.hidden:
            authors.setdefault(author, {})[post_id] = post.text
    return authors


def _language_labels(languages: SetLanguages) -> Iterator[Label]:
    """A set in several languages has a label for each of them, and the label `several`."""
    shares = ", ".join(f"{name} {share:.0%}" for name, share in languages.shares.items())
    evidence: Evidence = {"posts": languages.posts, "identified": languages.identified, "shares": shares}
    if languages.language == SEVERAL:
        yield SEVERAL, 1.0 - max(languages.shares.values()), evidence
    for name, share in languages.shares.items():
        if name == languages.language or (languages.language == SEVERAL and share >= MIN_SECOND_SHARE):
            yield name, share, evidence


def _variety_labels(variety: Variety) -> Iterator[Label]:
    if variety.variety is not None:
        largest = variety.evidence[:5]
        hints = "; ".join(f"{each.hint} {each.weight:+.1f} ({', '.join(each.examples)})" for each in largest)
        confidence = variety.rarer_share if variety.variety == MIXED else variety.confidence
        yield variety.variety, confidence, {"score": variety.score, "posts": variety.posts, "hints": hints}


def _label_account(seen: Seen, judge: str, author: str, posts: int, labels: Iterable[Label]) -> Iterator[Judgement]:
    """Yield the labels by so many posts, unless the account has a label by more."""
    strength = _strength(posts)
    earlier = [each.strength for each in seen.before.get((Subject.USER, author), ()) if each.judge == judge]
    if strength and strength >= max(earlier, default=0):
        for value, confidence, evidence in labels:
            yield Judgement(
                subject=Subject.USER,
                id=author,
                value=value,
                reason=_REASONS[strength - 1],
                confidence=round(confidence, 4),
                strength=strength,
                evidence=evidence,
            )


def _reviewed_accounts(seen: Seen, counted: Mapping[str, int]) -> dict[tuple[Subject, str], frozenset[str]]:
    """Return the reasons for labels by as many or fewer posts: unless repeated, these are withdrawn."""
    reviewed = {(Subject.USER, author): frozenset(_REASONS[: _strength(posts)]) for author, posts in counted.items()}
    opted_out = {(Subject.USER, user): frozenset(_REASONS) for user, profile in seen.accounts() if profile.opts_out}
    return reviewed | opted_out


def _strength(posts: int) -> int:
    return sum(posts >= least for least in BY_POSTS.values())
