"""The condition of an edge: a small language over what is known about a target, parsed here and never run as code.

    condition := all { "or" all }
    all       := one { "and" one }
    one       := "not" one | "(" condition ")" | flag | judged | value test
    judged    := "judged" "(" text [ "," text ] ")"
    test      := ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) value
               | [ "not" ] "in" "[" value { "," value } "]" | "contains" text | "is" ( "known" | "unknown" )

A flag nobody told us is false. A comparison with a value nobody told us does not hold, and neither does its negation;
`is unknown` asks for exactly that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bowerbird.flows.language.spelling import meant
from bowerbird.model import Judged

Facts = Callable[[str | Judged], Any]
"""Answers a word of the language, or a question about judgements, for one target: a truth value, a number, a text, or None when
nobody told us."""

FLAGS = {
    "news": "the profile tells of posts that it does not show itself: its counter differs from the stored one or is not told, "
    "or this crawl looks for the first time",
    "first": "this crawl looks at the account for the first time",
    "new": "stored for the first time",
    "new_post": "the post it was found by is stored for the first time",
    "changed": "the profile changed since it was last seen",
    "protected": "posts are shown to followers only",
    "bot": "says of itself that it is automated",
    "verified": "verified by the service",
    "repost": "the post passes another one on",
    "reply": "the post answers another one",
    "quote": "the post quotes another one",
    "edited": "the post was changed after it was written, as the service says",
    "cut": "the service sent only the beginning of the post's text, and says so",
    "located": "belongs to one of the places of the crawl file",
    "along": "the post was not listed itself: it came with one that answers it, quotes it or passes it on",
}
NUMBERS = {
    "depth": "steps from a seed",
    "followers": "the profile's counter of followers",
    "following": "the profile's counter of followed accounts",
    "posts": "the profile's counter of posts",
    "replies": "the post's counter of replies",
    "reposts": "the post's counter of reposts",
    "likes": "the post's counter of likes",
    "quotes": "the post's counter of quotes",
    "max_depth": "the limit in [filters]; no limit is larger than any number",
    "max_users": "the limit in [filters]; no limit is larger than any number",
    "max_followers": "the limit in [filters]; no limit is larger than any number",
    "max_following": "the limit in [filters]; no limit is larger than any number",
}
TEXTS = {
    "language": "of the post, or else of the profile",
    "text": "of the post",
    "handle": "of the account",
    "name": "of the account",
    "description": "of the account",
    "location": "of the account, as written",
}
ABOUT_USER = frozenset(
    {
        "news",
        "changed",
        "protected",
        "bot",
        "verified",
        "followers",
        "following",
        "posts",
        "handle",
        "name",
        "description",
        "location",
    }
)
ABOUT_POST = frozenset(
    {"repost", "reply", "quote", "edited", "cut", "along", "new_post", "replies", "reposts", "likes", "quotes", "text"}
)
ABOUT_CHANGE = frozenset({"news", "new", "new_post", "changed"})

LONGEST = 500
_KEYWORDS = frozenset({"and", "or", "not", "in", "is", "known", "unknown", "contains", "judged"})
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<text>"[^"]*"|'[^']*')|(?P<word>[A-Za-z_]\w*)|(?P<sign><=|>=|==|!=|[<>(),\[\]]))"""
)
_SAID = {
    "language": (re.compile(r"[a-z]{2,3}|several"), "a code such as 'pt', or 'several'"),
    "variety": (re.compile(r"pt-(?:PT|BR)|mixed"), "'pt-PT', 'pt-BR' or 'mixed'"),
    "community": (re.compile(r"yes|no|undecided"), "'yes', 'no' or 'undecided'"),
}
"""What the judges of languages and of communities say, and examples of it: anything else would silently fit nobody."""
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}

Truth = Callable[[Facts], bool | None]


class Condition(NamedTuple):
    """A parsed condition; `words` are the flags and values it asks for."""

    text: str
    truth: Truth
    words: frozenset[str]
    judges: frozenset[str] = frozenset()
    """Who must have judged for it to hold."""

    def holds(self, facts: Facts) -> bool:
        return self.truth(facts) is True

    @property
    def is_about_change(self) -> bool:
        """Whether it can only hold when something has happened, so that waking a sleeping task is worth a call."""
        return bool(self.words & ABOUT_CHANGE)


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Value(NamedTuple):
    read: Callable[[Facts], Any]
    is_number: bool
    said: str


def parse(text: str) -> Condition:
    """The condition meant by the text; raises `ValueError` that says what is allowed there."""
    if len(text) > LONGEST:
        raise ValueError(f"the condition has {len(text)} characters; {LONGEST} are allowed")
    parser = _Parser(text, list(_tokens(text)))
    truth = parser.condition()
    parser.expect_end()
    return Condition(text, truth, frozenset(parser.words), frozenset(parser.judges))


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            rest = text[at:].lstrip()
            raise ValueError(
                f"{rest[:12]!r} is not understood in the condition {text!r}; allowed: words, numbers, 'texts', < <= > >= == != ()"
            )
        yield _Token(found.lastgroup, found.group(found.lastgroup), found.start(found.lastgroup))
        at = found.end()


class _Parser:
    """Recursive descent over the tokens; each method turns one rule of the grammar into a function."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.words: set[str] = set()
        self.judges: set[str] = set()
        self.nesting = 0

    def condition(self) -> Truth:
        parts = [self._all()]
        while self._accept("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else lambda facts: _either([part(facts) for part in parts])

    def _all(self) -> Truth:
        parts = [self._one()]
        while self._accept("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else lambda facts: _both([part(facts) for part in parts])

    def _one(self) -> Truth:
        self.nesting += 1
        if self.nesting > 50:
            raise self._wrong("is nested too deeply")
        try:
            return self._negated() if self._accept("not") else self._grouped() if self._accept("(") else self._plain()
        finally:
            self.nesting -= 1

    def _negated(self) -> Truth:
        inner = self._one()
        return lambda facts: _opposite(inner(facts))

    def _grouped(self) -> Truth:
        inner = self.condition()
        self._expect(")")
        return inner

    def _plain(self) -> Truth:
        if self._accept("judged"):
            return self._judged()
        token = self._peek()
        if token is not None and token.kind == "word" and token.text in FLAGS:
            self._flag(self._next().text)
            return lambda facts: bool(facts(token.text))
        return self._test(self._value())

    def _judged(self) -> Truth:
        self._expect("(")
        asked = Judged(self._literal())
        if self._accept(","):
            asked = Judged(asked.judge, self._literal())
            self._check_said(asked)
        self._expect(")")
        self.judges.add(asked.judge)
        return lambda facts: bool(facts(asked))

    def _check_said(self, asked: Judged) -> None:
        form, example = _SAID.get(asked.judge, (None, ""))
        if form is not None and not form.fullmatch(asked.value or ""):
            raise self._wrong(f"asks for the {asked.judge} {asked.value!r}, which no judge says: write {example}")

    def _literal(self) -> str:
        token = self._next()
        if token.kind != "text":
            raise self._wrong(f"has {token.text!r} where a text should be, as in: judged('place', 'Lisbon')")
        return token.text[1:-1]

    def _flag(self, word: str) -> None:
        self.words.add(word)
        following = self._peek()
        if following is not None and (following.text in _COMPARE or following.text in {"in", "is", "contains"}):
            raise self._wrong(f"compares {word!r}, which is either true or not: write {word!r} or 'not {word}'")

    def _test(self, left: _Value) -> Truth:
        token = self._peek()
        if token is None:
            example = "< 10" if left.is_number else "== 'en'"
            raise self._wrong(f"ends after {left.said!r}; compare it, as in: {left.said} {example}")
        if token.text in _COMPARE:
            return self._comparison(left, self._next().text)
        if self._accept("is"):
            return self._known(left)
        if self._accept("contains"):
            return self._contains(left)
        is_negated = self._accept("not")
        self._expect("in")
        inside = self._membership(left)
        return (lambda facts: _opposite(inside(facts))) if is_negated else inside

    def _comparison(self, left: _Value, sign: str) -> Truth:
        right = self._value()
        self._same_type(left, right)
        if not left.is_number and sign not in {"==", "!="}:
            raise self._wrong(f"compares texts with {sign!r}; texts know ==, !=, in and contains")
        compare = _COMPARE[sign]

        def truth(facts: Facts) -> bool | None:
            one, other = left.read(facts), right.read(facts)
            return None if one is None or other is None else compare(one, other)

        return truth

    def _known(self, left: _Value) -> Truth:
        wants_known = self._accept("known")
        if not wants_known:
            self._expect("unknown")
        return lambda facts: (left.read(facts) is not None) == wants_known

    def _contains(self, left: _Value) -> Truth:
        part = self._value()
        if left.is_number or part.is_number:
            raise self._wrong("uses 'contains' with a number; it looks for a text in a text, as in \"text contains 'flood'\"")

        def truth(facts: Facts) -> bool | None:
            whole, wanted = left.read(facts), part.read(facts)
            return None if whole is None or wanted is None else wanted.casefold() in whole.casefold()

        return truth

    def _membership(self, left: _Value) -> Truth:
        self._expect("[")
        members = [self._value()]
        while self._accept(","):
            members.append(self._value())
        self._expect("]")
        for member in members:
            self._same_type(left, member)

        def truth(facts: Facts) -> bool | None:
            one = left.read(facts)
            return None if one is None else any(one == member.read(facts) for member in members)

        return truth

    def _value(self) -> _Value:
        token = self._next()
        if token.kind == "number":
            number = float(token.text)
            return _Value(lambda facts: number, True, token.text)
        if token.kind == "text":
            text = token.text[1:-1]
            return _Value(lambda facts: text, False, token.text)
        if token.text in NUMBERS or token.text in TEXTS:
            self.words.add(token.text)
            return _Value(lambda facts: facts(token.text), token.text in NUMBERS, token.text)
        raise self._unknown(token)

    def _unknown(self, token: _Token) -> ValueError:
        if token.kind != "word" or token.text in _KEYWORDS:
            return self._wrong(f"has {token.text!r} where a flag or a value should be")
        allowed = [*FLAGS, *NUMBERS, *TEXTS]
        return self._wrong(f"uses the unknown word {token.text!r}{meant(token.text, allowed)}; allowed: {', '.join(allowed)}")

    def _same_type(self, left: _Value, right: _Value) -> None:
        if left.is_number != right.is_number:
            text, number = (right, left) if left.is_number else (left, right)
            raise self._wrong(f"compares the text {text.said} with the number {number.said}")

    def _peek(self) -> _Token | None:
        return self.tokens[0] if self.tokens else None

    def _next(self) -> _Token:
        if not self.tokens:
            raise self._wrong("ends too early")
        return self.tokens.pop(0)

    def _accept(self, text: str) -> bool:
        token = self._peek()
        if token is None or token.text != text or token.kind == "text":
            return False
        self.tokens.pop(0)
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            token = self._peek()
            raise self._wrong(f"has {token.text!r} where {text!r} should be" if token else f"ends where {text!r} should be")

    def expect_end(self) -> None:
        token = self._peek()
        if token is not None:
            raise self._wrong(f"goes on with {token.text!r}; join conditions with 'and' or 'or'")

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"the condition {self.text!r} {what}")


def _opposite(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _both(truths: list[bool | None]) -> bool | None:
    if False in truths:
        return False
    return None if None in truths else True


def _either(truths: list[bool | None]) -> bool | None:
    if True in truths:
        return True
    return None if None in truths else False
