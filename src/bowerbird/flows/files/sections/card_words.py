"""`[card]` of a crawl file: what only its authors can say of the data, for the dataset card."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.flows.language.tables import Table

CARD_KEYS = ("title", "description", "purpose", "authors", "contact", "licence", "citation", "url")


class CardWords(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`[card]` of a crawl file; what is empty is said to be unsaid."""

    title: str = ""
    description: str = ""
    purpose: str = ""
    """Why the data was collected, and for which questions it is meant."""
    authors: tuple[str, ...] = ()
    contact: str = ""
    licence: str = ""
    """A name or an address: `CC-BY-4.0`."""
    citation: str = ""
    url: str = ""
    """Where the dataset, or what is told of it, can be found."""


def card_words(table: Table) -> CardWords:
    inner = table.table("card")
    inner.only(CARD_KEYS, "[card]")
    texts = {key: inner.text(key) for key in CARD_KEYS if key != "authors"}
    return CardWords(**texts, authors=inner.texts("authors"))
