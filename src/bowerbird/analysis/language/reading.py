"""What somebody's posts say together: in which language, and in which variety of Portuguese."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from bowerbird.analysis.language.cleaning import cleaned
from bowerbird.analysis.language.hints import found
from bowerbird.analysis.language.identify import Identifier, PersonLanguages, PostLanguage, together
from bowerbird.analysis.language.variety import Found, VarietyClassifier, Weighing

PORTUGUESE = "pt"
_MAY_BE_PORTUGUESE = frozenset({PORTUGUESE, "gl", None})
"""Galician is what short Portuguese posts are most often taken for; those too short to tell may show hints all the same."""


class PostRead(Struct, frozen=True):
    """One post: its language, and the hints in it if it may be Portuguese."""

    language: PostLanguage
    found: Found | None


class Reading(Struct, frozen=True):
    """The posts of one person, read together."""

    languages: PersonLanguages
    weighing: Weighing | None
    """Of the posts that may be Portuguese; None where Portuguese is not what the person mainly writes."""

    @property
    def variety(self) -> str | None:
        return self.weighing.variety if self.weighing else None


class Reader:
    """Reads posts. Pure: the same posts give the same reading."""

    def __init__(self, classifier: VarietyClassifier | None = None) -> None:
        self._identifier = Identifier()
        self._classifier = classifier or VarietyClassifier()

    def post(self, text: str) -> PostRead:
        language = self._identifier.post(text)
        may_be = language.language in _MAY_BE_PORTUGUESE
        return PostRead(language, tuple(found(cleaned(text))) if may_be else None)

    def read(self, texts: Iterable[str]) -> Reading:
        return self.together([self.post(text) for text in texts])

    def together(self, posts: Sequence[PostRead]) -> Reading:
        languages = together([each.language for each in posts])
        is_portuguese = languages.main == PORTUGUESE
        return Reading(languages, self._weighed(posts) if is_portuguese else None)

    def alone(self, post: PostRead) -> Weighing | None:
        """The variety of one post, if it is Portuguese."""
        return self._weighed([post]) if post.language.language == PORTUGUESE else None

    def _weighed(self, posts: Sequence[PostRead]) -> Weighing:
        return self._classifier.weigh_found([each.found for each in posts if each.found is not None])
