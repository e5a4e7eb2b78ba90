"""Posts without names of people, places and parties: what is left is how somebody writes, not of whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from bowerbird.evaluate.language.sources import Posts, Source

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SENTENCE = re.compile(r"(?:^|[.!?…:\n\"“«]\s*|\s\s)$")
_MASK = "—"


class Masker:
    """Takes out what is written with a capital letter inside a sentence, and at its beginning what is seldom written without."""

    def __init__(self, posts: Iterable[str]) -> None:
        capital: Counter[str] = Counter()
        small: Counter[str] = Counter()
        for post in posts:
            for match in _WORD.finditer(post):
                word = match.group()
                (capital if word[0].isupper() else small)[word.lower()] += 1
        self._names = {word for word, count in capital.items() if count > small[word]}

    def masked(self, post: str) -> str:
        # Whole posts in capital letters name nobody by them.
        return post if post.isupper() else _WORD.sub(lambda match: self._word(post, match), post)

    def _word(self, post: str, match: re.Match[str]) -> str:
        word = match.group()
        begins = _SENTENCE.search(post, 0, match.start()) is not None
        is_name = word[0].isupper() and (not begins or word.lower() in self._names)
        return _MASK if is_name else word


def masked(source: Source) -> Source:
    mask = Masker([*source.all(source.european), *source.all(source.brazilian)]).masked
    return Source(f"{source.name}_masked", _each(source.european, mask), _each(source.brazilian, mask))


def _each(people: Mapping[str, Posts], mask: Callable[[str], str]) -> Mapping[str, Posts]:
    return {author: [mask(post) for post in posts] for author, posts in people.items()}
