"""A redirect, which is not followed, says nothing of what was asked: whoever sends it, on every network."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bowerbird.model import Answer, Ask, Outcome, Service
from bowerbird.providers import PROVIDERS, provider

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_a_redirect_is_no_answer(name: str, status: int) -> None:
    speaks, service = provider(name), Service(name="s", provider=name, base="https://s.example")
    moved = Answer(status=status, sent_at=NOW, received_at=NOW, headers={"location": "https://elsewhere.example/"})
    pages = {facet: speaks.parse(Ask(facet, ("1",)), moved, service) for facet in speaks.facets}
    assert {page.outcome for page in pages.values()} == {Outcome.UNREADABLE}
    assert all("elsewhere.example" in page.detail and not page.gone for page in pages.values())
