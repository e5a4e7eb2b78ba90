"""What the targets of a facet are, for those who read what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bowerbird.model import Subject
from bowerbird.providers import PROVIDERS, provider


def subject_of(facet: str) -> Subject:
    """Users, posts or words; what is no facet, such as a stream, is asked about words."""
    return _subjects().get(facet, Subject.WORD)


@cache
def _subjects() -> Mapping[str, Subject]:
    # The name of a facet means the same wherever it is asked.
    return {name: facet.subject for each in PROVIDERS for name, facet in provider(each).facets.items()}
