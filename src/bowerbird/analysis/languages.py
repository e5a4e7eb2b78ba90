"""Identify the language of posts, of the posts of one account, and of a whole stream.

py3langid scores a single cleaned post. Short posts need more than that: an account mostly writes in
one or two languages, and a crawl mostly collects a few. Both are estimated from the posts
themselves by expectation maximisation, and are used as priors of a post:

    posterior = P(post) * stream ** (1/4) * account ** (1/2)

(both normalised, `account` over the author's other posts; alone, a post has stream ** (1/2)).
The procedure, its constants and what each step gains are described in docs/concepts/language.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from html import unescape
from typing import Any
from unicodedata import normalize as normalize_unicode

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]

VERSION = "3"
"""Changes with the rules and constants of this module. Labels record it."""
SEVERAL = "several"
"""The language of a set of posts in which a second language has a share of at least 0.2."""
_CODES = """
af am ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu ha he hi hr hu hy id is it
ja ka kk km kn ko ku ky lo lt lv mk ml mn mr ms mt my ne nl no pa pl ps pt ro ru si sk sl sq sr sv sw
ta te th tl tr uk ur uz vi zh
"""
LANGUAGES = tuple(_CODES.split())
"""The languages that can be identified. Identification gets worse with every unlikely language."""
MIN_SET_POSTS = 3
"""A set with fewer posts that have enough letters has no language."""
MIN_SECOND_SHARE = 0.2
MAX_LENGTH = 5_000
"""Characters of a post that are read."""

_COLUMNS = {name: column for column, name in enumerate(LANGUAGES)}
_VARIANTS = {"nn": "no", "arz": "ar", "ary": "ar"}
_FLAT = np.full(len(LANGUAGES), 1 / len(LANGUAGES))
FAMILIES = (("bs", "hr", "sr"), ("id", "ms"), ("da", "no"))
"""Languages that posts hardly distinguish. The stream's prior is averaged over each family; in a set
the members of a family count together, as the most frequent of them."""
_FAMILY_COLUMNS = [[_COLUMNS[name] for name in family] for family in FAMILIES]
_MIN_LETTERS, _FEW_LETTERS = 4, 8
_MIN_CONFIDENCE = 0.6
_POWER = 1.4
"""py3langid is too cautious: its probabilities are raised to this power."""
_PRIOR_POWER = 0.5
_STREAM_WEIGHT, _ACCOUNT_WEIGHT, _SET_WEIGHT = 50.0, 3.0, 1.0
"""How many posts the starting point of each estimate counts as (Dirichlet prior)."""
_MIN_STREAM_POSTS, _STREAM_SAMPLE = 200, 2_000
_EM_STEPS = 25

_ENDINGS = "com|org|net|info|edu|gov|eu|io|co|ly|me|tv|be|gl|fm|app|dev|uk|us|de|fr|es|it|pt|br|jp|ru|pl"
_LINK = re.compile(
    rf"(?:https?://|www\.)\S+|\b[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{0,5}}\.(?:{_ENDINGS})(?:/\S*|\b(?![\w.]))",
    re.IGNORECASE,
)
_MENTION = re.compile(r"(?<![\w.])@[\w.-]+(?:@[\w.-]+)?")
_HASHTAG = re.compile(r"(?<!\w)[#$](\w+)")
_REPOST = re.compile(r"^\s*RT\b\s*:?")
# Emoji with their joiners and skin tones, flags, arrows, boxes, dingbats.
_EMOJI = re.compile(
    "[\u200b-\u200f\u2060-\u2064\u20e3\u2190-\u2bff\u3030\ufe00-\ufe0f\U0001f000-\U0001faff\U000e0020-\U000e007f]+"
)
_EMOTICON = re.compile(r"(?<!\w)[:;=8xX]['\u2019]?-?[dDpPoOsSxXcC3](?!\w)|<3+")
_LAUGHTER = re.compile(
    r"\b(?:(?:h+[aeiou]+){2,}h*|(?:[aeiou]+h+){2,}[aeiou]*|(?:j+[aeiou]+){2,}j*|k{3,}\w{0,2}|(?:rs){2,}r?"
    r"|(?:\u0445+\u0430+){2,}\u0445*|l+o+l+(?:o+l+)*|x+d+|lmf?ao+|rofl)\b"
)
# Punctuation by ranges: the combining marks of Indic scripts are no word characters either.
_NOT_LETTERS = re.compile(r"[\d_!-/:-@\[-`{-~\u00a1-\u00bf\u00d7\u00f7\u2010-\u205e\u3000-\u303f\uff00-\uff20]+")
_REPEATED = re.compile(r"([^\W\d_])\1{2,}")
_SPACE = re.compile(r"\s+")


def clean(text: str, *, keeps_hashtags: bool = False) -> str:
    """Return the text without links, mentions, hashtags, emoji and repost marks, on one line."""
    text = unescape(normalize_unicode("NFC", text[:MAX_LENGTH]))
    text = _HASHTAG.sub(r" \1 " if keeps_hashtags else " ", _MENTION.sub(" ", _LINK.sub(" ", text)))
    return _SPACE.sub(" ", _EMOJI.sub(" ", _REPOST.sub(" ", text))).strip()


def normalize(text: str) -> str:
    """Return the words to identify a language by: lower case, without laughter or punctuation."""
    words = _words(clean(text))
    if sum(map(str.isalpha, words)) < _FEW_LETTERS and ("#" in text or "$" in text):
        words = _words(clean(text, keeps_hashtags=True))
    return words


def _words(text: str) -> str:
    text = _NOT_LETTERS.sub(" ", _LAUGHTER.sub(" ", _EMOTICON.sub(" ", text).lower()))
    return _SPACE.sub(" ", _REPEATED.sub(r"\1", text)).strip()


class PostLanguage(Struct, frozen=True):
    """The language of one post."""

    likely: str | None
    """Most likely language; None for a post with fewer than four letters."""
    confidence: float
    prior: float = 0.0
    """Probability of that language before the post was looked at, from the stream and the account."""

    @property
    def language(self) -> str | None:
        """The most likely language if its probability is at least 0.6, else None (undecided)."""
        return self.likely if self.confidence >= _MIN_CONFIDENCE else None


class SetLanguages(Struct, frozen=True, kw_only=True):
    """The language of a set of posts: a code, `several`, or None if undecided."""

    language: str | None
    shares: Mapping[str, float]
    """Estimated share of each language above 1 %, the largest first. Cautious: one more post, in all
    languages alike, is counted in, so that few posts cannot give a share of 1."""
    posts: int
    identified: int
    """Number of these with enough letters."""
    by_post: tuple[str | None, ...]
    """Most likely language of each post within this set; None if it has too few letters."""


class Identifier:
    """Identifies languages. The model is loaded on first use.

    `observe` collects posts of the stream; from 200 posts on their language shares are the prior
    of `identify`. Sets are identified without that prior.
    """

    def __init__(self) -> None:
        self._probabilities = lru_cache(maxsize=5_000)(_probabilities)
        self._sample: dict[str, Floats] = {}
        self._observed = 0
        self._fitted = 0
        self._stream = _FLAT

    def observe(self, texts: Iterable[str]) -> None:
        """Add posts of the stream to the estimate of its language shares.

        The estimate is of the last 2,000 different posts.
        """
        for text in (text[:MAX_LENGTH] for text in texts):
            if text not in self._sample and (row := self._probabilities(text)) is not None:
                self._sample[text] = row
                self._observed += 1
                if len(self._sample) > _STREAM_SAMPLE:
                    del self._sample[next(iter(self._sample))]
        # Every estimate takes some milliseconds: it is repeated when there are a quarter more posts.
        if self._observed >= max(_MIN_STREAM_POSTS, self._fitted + min(self._fitted, _STREAM_SAMPLE) // 4):
            self._stream = _shares(np.array([*self._sample.values()]), _FLAT, _STREAM_WEIGHT)
            for family in _FAMILY_COLUMNS:
                self._stream[family] = self._stream[family].mean()
            self._fitted = self._observed

    @property
    def stream_posts(self) -> int:
        """Number of posts that the prior of the stream rests on; 0 while it is flat."""
        return self._fitted

    def identify(self, texts: Sequence[str]) -> list[PostLanguage]:
        """Return the language of each of the posts of one author."""
        rows = [self._probabilities(text[:MAX_LENGTH]) for text in texts]
        numbers = [number for number, row in enumerate(rows) if row is not None]
        found = [PostLanguage(None, 0.0)] * len(rows)
        if not numbers:
            return found
        posts = np.array([rows[number] for number in numbers])
        base = _normalized(self._stream**_PRIOR_POWER)
        priors = _normalized(base**_PRIOR_POWER * _account_priors(posts, base) ** _PRIOR_POWER)
        posteriors = _normalized(posts * priors)
        for number, prior, posterior in zip(numbers, priors, posteriors, strict=True):
            best = int(posterior.argmax())
            found[number] = PostLanguage(LANGUAGES[best], float(posterior[best]), float(prior[best]))
        return found

    def identify_set(self, texts: Sequence[str]) -> SetLanguages:
        """Return the language of a set of posts, such as those of one account."""
        rows = [self._probabilities(text[:MAX_LENGTH]) for text in texts]
        posts = np.array([row for row in rows if row is not None])
        if not len(posts):
            return SetLanguages(language=None, shares={}, posts=len(rows), identified=0, by_post=(None,) * len(rows))
        shares = _shares(posts, _FLAT, _SET_WEIGHT)
        best = iter((posts * shares).argmax(axis=1))
        by_post = tuple(None if row is None else LANGUAGES[next(best)] for row in rows)
        for family in _FAMILY_COLUMNS:
            total, most_frequent = shares[family].sum(), family[int(shares[family].argmax())]
            shares[family] = 0.0
            shares[most_frequent] = total
        order = np.argsort(-shares, kind="stable")
        language: str | None = None
        if len(posts) >= MIN_SET_POSTS:
            if shares[order[1]] >= MIN_SECOND_SHARE:
                language = SEVERAL
            elif shares[order[0]] > 0.5:
                language = LANGUAGES[order[0]]
        named = {LANGUAGES[each]: round(float(shares[each]), 4) for each in order if shares[each] > 0.01}
        return SetLanguages(language=language, shares=named, posts=len(rows), identified=len(posts), by_post=by_post)


def _probabilities(text: str) -> Floats | None:
    """P of the post by language; None if it has fewer than four letters."""
    words = normalize(text)
    if sum(map(str.isalpha, words)) < _MIN_LETTERS:
        return None
    row = np.zeros(len(LANGUAGES))
    for label, probability in _model().rank(words):
        row[_COLUMNS[_VARIANTS.get(label, label)]] += probability
    return _normalized(row**_POWER)


def _shares(posts: Floats, base: Floats, weight: float) -> Floats:
    """Estimate the shares of the languages among posts; `base` counts as `weight` posts."""
    shares = base
    for _ in range(_EM_STEPS):
        shares = (_normalized(posts * shares).sum(axis=0) + weight * base) / (len(posts) + weight)
    return shares


def _account_priors(posts: Floats, base: Floats) -> Floats:
    """Estimate for each post the shares of the languages among the author's other posts.

    All posts at once: each leaves out its own part of the common estimate. Estimating each from
    scratch takes seven times as long and gives the same language to 99.5 % of posts.
    """
    if len(posts) == 1:
        return base[None]
    shares = np.tile(base, (len(posts), 1))
    for _ in range(_EM_STEPS):
        parts = _normalized(posts * shares)
        shares = (parts.sum(axis=0) - parts + _ACCOUNT_WEIGHT * base) / (len(posts) - 1 + _ACCOUNT_WEIGHT)
    return shares


def _normalized(values: Floats) -> Floats:
    normalized: Floats = values / values.sum(axis=-1, keepdims=True)
    return normalized


@cache
def _model() -> Any:
    # Loading takes more than half a second: commands that identify nothing do not wait for it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    model.set_languages({*_COLUMNS, *_VARIANTS})
    return model
