"""People looked up online from a browser: a small crawl in the same store, with its limits, ledgers and vault."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.flows.files.written import toml_text
from bowerbird.model import TRAITS
from bowerbird.model.networks import USER_MARKS
from bowerbird.steering.files import Draft
from bowerbird.steering.reach import is_of_the_machine

PREFIX = "look-up-"
_NAME = re.compile(rf"{PREFIX}\d{{1,9}}")
MOST_CALLS = 12
"""One for the question, some for the profiles of those found; the rest is for what a server says of itself and of our token."""
_NAMES = ("profile", "profiles")
_TEXT = """\
# People looked up in the browser.
store = {store}
seeds = [{seed}]

[service]
provider = {provider}
base = {base}

[flow]
name = "look-up"
about = "People by name or by words, with a few calls."
seeds = [{facets}]

{uses}
[stop]
calls = {most}
"""
_USE = """\
[flow.facets.{facet}]
ranker = "fifo"
{more}
"""
_EDGE = """\
[[flow.edges]]
from = "{facet}"
to = "profiles"
take = "{take}"
"""


class Lookup(Struct, frozen=True, kw_only=True):
    """Whom somebody looks for, and where."""

    words: str
    provider: str
    base: str
    store: str

    @property
    def is_name(self) -> bool:
        """Whether one account is meant, as against words that many may have."""
        return self.words.startswith(("@", "https://", "http://", *USER_MARKS)) or self.words.isdecimal()


def is_look_up(crawl: str) -> bool:
    """Whether a crawl is only a question that somebody asked once."""
    return bool(_NAME.fullmatch(crawl))


def look_up(lookup: Lookup, number: int) -> Draft:
    """The crawl file of a look-up. Who is found is led to a queue of profiles: it names them."""
    if not lookup.words or len(lookup.words) > 200:
        raise UserError("write a handle such as @alice, an address of a profile, or some words of a name or description")
    if lookup.provider not in TRAITS:
        raise UserError(f"there is no network {lookup.provider!r:.40}", code="unknown_network")
    base = lookup.base or TRAITS[lookup.provider].base
    if urlsplit(base).scheme not in ("http", "https") or is_of_the_machine(base):
        raise UserError(
            f"the server {base!r:.60} is no address of a network",
            f"write for example {TRAITS[lookup.provider].base}",
            code="unknown_network",
        )
    facets = _NAMES if lookup.is_name else ("people",)
    uses = [_USE.format(facet=facet, more="max_pages = 1\n" if facet == "people" else "") for facet in {*facets, "profiles"}]
    lead = _EDGE.format(facet=facets[0], take="asked" if lookup.is_name else "users")
    text = _TEXT.format(
        most=MOST_CALLS,
        store=toml_text(lookup.store),
        seed=toml_text(lookup.words),
        provider=toml_text(lookup.provider),
        base=toml_text(base),
        facets=", ".join(map(toml_text, facets)),
        uses="\n".join([*sorted(uses), lead]),
    )
    return Draft(name=f"{PREFIX}{number}", text=text)
