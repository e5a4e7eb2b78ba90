"""Distinguish European from Brazilian Portuguese in sets of posts.

About sixty hints (variety_hints.toml, written by hand: grammar, spelling, everyday words, laughter)
are counted in the Portuguese posts of a set. A hint that occurs n times adds sqrt(n) times its
weight (variety_weights.toml, estimated by `bowerbird evaluate language --weights FILE`). With A the
sum for Portugal and B the sum for Brazil, the logarithm of the odds is

    1.8 * (A - B) / sqrt(A + B + 1)

so that a few stray hints among many of the other side do not decide. A missing hint counts nothing:
it depends on the kind of text more than on the variety.

`echo_variety` is the published method of TwitterEcho, for comparison.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import exp, sqrt
from unicodedata import normalize as normalize_unicode

from msgspec import Struct

from bowerbird.analysis.languages import MIN_SECOND_SHARE, MIN_SET_POSTS, SetLanguages, clean

EUROPEAN = "pt-PT"
BRAZILIAN = "pt-BR"
MIXED = "mixed"
VERSION = "3"
"""Changes with the hints, the weights and the rules of this module. Labels record it."""

_SCALE = 1.8
_MIN_CONFIDENCE = 0.75
_CLEAR_SCORE = 1.0
"""A post with such a score shows its variety by itself."""
_MIN_CLEAR_POSTS = 10
_MIXED_SHARE = 0.4
"""Share of the rarer variety among at least ten clear posts from which on a set is mixed."""

FoundHint = tuple[str, str]
"""The name of a hint and the words that show it."""


class Hint(Struct, frozen=True):
    """One way in which the varieties differ. All its words and patterns have the same weight."""

    name: str
    side: str
    prior: float
    """Weight before any data, without sign."""
    words: frozenset[str] = frozenset()
    spellings: tuple[re.Pattern[str], ...] = ()
    """Patterns of a whole word."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """Patterns of a piece of the text in lower case."""

    @property
    def sign(self) -> int:
        return 1 if self.side == EUROPEAN else -1


class Evidence(Struct, frozen=True):
    """One hint that counted."""

    hint: str
    weight: float
    """What it adds to A - B; negative for Brazil."""
    examples: tuple[str, ...]


class Variety(Struct, frozen=True, kw_only=True):
    """The variety of Portuguese of a set of posts."""

    variety: str | None
    """`pt-PT`, `pt-BR`, `mixed`, or None if undecided or if the posts are not Portuguese."""
    score: float = 0.0
    """Logarithm of the odds; positive for Portugal."""
    confidence: float = 0.0
    """Probability of the likelier of the two varieties."""
    rarer_share: float = 0.0
    """Share of the rarer variety among the posts that show one by themselves."""
    posts: int = 0
    """Number of Portuguese posts that were used; 0 if the set is not Portuguese."""
    evidence: tuple[Evidence, ...] = ()
    """The largest weights first."""


def classify_variety(texts: Sequence[str], languages: SetLanguages) -> Variety:
    """Return the variety of a set of posts; `languages` is `Identifier.identify_set` of them.

    The language decides first: a set with fewer than three posts, with no more than half Portuguese
    or with a fifth Galician has no variety. Only its Portuguese posts count.
    """
    found = [find_hints(text) for text in portuguese_posts(texts, languages)]
    return weigh_hints(found, hint_weights())


def portuguese_posts(texts: Sequence[str], languages: SetLanguages) -> list[str]:
    """Return the Portuguese posts of a set; none if the set as a whole is not Portuguese."""
    shares = languages.shares
    is_portuguese = shares.get("pt", 0.0) > 0.5 and shares.get("gl", 0.0) < MIN_SECOND_SHARE
    if languages.identified < MIN_SET_POSTS or not is_portuguese:
        return []
    return [text for text, name in zip(texts, languages.by_post, strict=True) if name == "pt"]


def weigh_hints(posts: Sequence[Sequence[FoundHint]], weights: Mapping[str, float]) -> Variety:
    """Return the variety of Portuguese posts whose hints are given."""
    examples: defaultdict[str, Counter[str]] = defaultdict(Counter)
    post_scores = []
    for post in posts:
        counts = Counter(name for name, _ in post)
        post_scores.append(sum(weights[name] * sqrt(count) for name, count in counts.items()))
        for name, words in post:
            examples[name][words] += 1
    evidence = [
        Evidence(
            hint=name,
            weight=round(weights[name] * sqrt(words.total()), 3),
            examples=tuple(each for each, _ in words.most_common(3)),
        )
        for name, words in examples.items()
        if weights[name]
    ]
    evidence.sort(key=lambda each: (-abs(each.weight), each.hint))
    european, brazilian = (sum(side * each >= _CLEAR_SCORE for each in post_scores) for side in (1, -1))
    total = sum(abs(each.weight) for each in evidence)
    score = _SCALE * sum(each.weight for each in evidence) / sqrt(total + 1)
    confidence = 1 / (1 + exp(-abs(score)))
    rarer_share = min(european, brazilian) / max(1, european + brazilian)
    variety: str | None = None
    if european + brazilian >= _MIN_CLEAR_POSTS and rarer_share >= _MIXED_SHARE:
        variety = MIXED
    elif confidence >= _MIN_CONFIDENCE:
        variety = EUROPEAN if score > 0 else BRAZILIAN
    return Variety(
        variety=variety,
        score=round(score, 3),
        confidence=round(confidence, 4),
        rarer_share=round(rarer_share, 4),
        posts=len(posts),
        evidence=tuple(evidence),
    )


_WORD = re.compile(r"[a-zà-öø-ÿ]+(?:-[a-zà-öø-ÿ]+)*")


@cache
def hints() -> Mapping[str, Hint]:
    """Return all hints by name, in the order of variety_hints.toml."""
    tables = tomllib.loads((files(__package__) / "variety_hints.toml").read_text("utf-8"))
    return {
        name: Hint(
            name,
            table["side"],
            table["prior"],
            frozenset(table.get("words", ())),
            tuple(map(re.compile, table.get("spellings", ()))),
            tuple(map(re.compile, table.get("patterns", ()))),
        )
        for name, table in tables.items()
    }


@cache
def hint_weights() -> Mapping[str, float]:
    """Return the weight of each hint, estimated from all sources together; negative for Brazil."""
    table = tomllib.loads((files(__package__) / "variety_weights.toml").read_text("utf-8"))
    return {name: float(table[name]) for name in hints()}


def find_hints(text: str) -> tuple[FoundHint, ...]:
    """Return the hints in a post, each as often as it occurs."""
    text = clean(text).lower()
    found = [(name, word) for word in _WORD.findall(text) for name in _hints_of_word(word)]
    for name, hint in hints().items():
        for pattern in hint.patterns:
            found += [(name, match.group().strip(" .!?…,;:")) for match in pattern.finditer(text)]
    return tuple(found)


@lru_cache(maxsize=50_000)
def _hints_of_word(word: str) -> tuple[str, ...]:
    """A word that is listed counts for its hint only, whatever its spelling."""
    listed = tuple(hint.name for hint in hints().values() if word in hint.words)
    return listed or tuple(hint.name for hint in hints().values() if any(each.fullmatch(word) for each in hint.spellings))


# The published reference: Oliveira 2011, section 3.4.5. First, the letters of all posts are ordered
# by frequency and compared with their order in Portuguese: every letter costs as many places as it
# is out of order, a missing one costs 26 for the most frequent letter, 25 for the next, and so on.
# Posts that are near enough are Portuguese; if they show too many of four Brazilian hints, they are
# Brazilian. The thesis publishes neither its order of letters, nor its list of some seventy words,
# nor any number. These are ours: the usual order, a list as long, and the thresholds that did best
# on half of the tweets that the method is measured with.

ECHO_LETTERS = "aeosrindmutclpvghqbfzjxkwy"
"""The letters in Portuguese, the most frequent first."""
_ECHO_MAX_DISTANCE = 38
_ECHO_MAX_HINTS = 0.3
"""Sum of the hints per post above which posts are Brazilian."""
_ECHO_NO_GERUNDS = """
quando segundo mundo fundo lindo profundo fernando comando bando brando vagabundo imundo oriundo redondo estrondo
dividendo referendo tremendo horrendo estupendo reverendo legendo vindo bemvindo findo ando mando vendo entendo
pretendo aprendo defendo dependo compreendo escondo respondo tendo sendo armando orlando contrabando sondo hediondo
"""
_ECHO_WORDS = """
onibus celular voce voces banheiro geladeira trem sorvete suco galera moleque garoto garota cara legal bacana ruim cachorro
torcida torcedor goleiro gol gols time usuario tela equipe esporte registro planejamento fato contato midia bilhoes pra pro
ne ta cade oi tchau nossa putz poxa eita uai oxe papai mamae aluguel grana bagunca balada xingar pegar zoar curtir assistir
postar besteira bobagem fofoca saudade tbm vc vcs vei mano blz vdd cafezinho demais gente
"""
_ARE_NO_GERUNDS, _ARE_BRAZILIAN = frozenset(_ECHO_NO_GERUNDS.split()), frozenset(_ECHO_WORDS.split())
_NOT_ASCII_LETTERS = re.compile(r"[^a-z ]+")


def echo_variety(texts: Sequence[str], max_distance: int = _ECHO_MAX_DISTANCE) -> str | None:
    """Return `pt-PT`, `pt-BR`, or None for another language, by the rules of TwitterEcho."""
    text = " ".join(map(echo_words, texts))
    if echo_distance(text) > max_distance:
        return None
    return BRAZILIAN if echo_hints(text) > _ECHO_MAX_HINTS * len(texts) else EUROPEAN


def echo_words(text: str) -> str:
    """Return the words of a text in lower case without accents."""
    plain = normalize_unicode("NFD", clean(text).lower()).encode("ascii", "ignore").decode()
    return " ".join(_NOT_ASCII_LETTERS.sub(" ", plain).split())


def echo_distance(text: str) -> int:
    """Return how far the letters of the text are from their order in Portuguese."""
    counts = Counter(text.replace(" ", ""))
    order = sorted(counts, key=lambda letter: (-counts[letter], letter))
    ranks = {letter: rank for rank, letter in enumerate(order)}
    return sum(
        abs(ranks[letter] - rank) if letter in ranks else len(ECHO_LETTERS) - rank for rank, letter in enumerate(ECHO_LETTERS)
    )


def echo_hints(text: str) -> float:
    """Return the sum of the four Brazilian hints; a gerund counts half."""
    words = text.split()
    return (
        sum("kkk" in word for word in words)
        + sum("rsr" in word for word in words)
        + 0.5 * sum(word.endswith("ndo") and word not in _ARE_NO_GERUNDS for word in words)
        + sum(word in _ARE_BRAZILIAN for word in words)
    )
