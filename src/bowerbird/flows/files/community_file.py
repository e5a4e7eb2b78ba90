"""A community in TOML: a file of its own, or the `[community]` of a crawl file, which may name such a file.

name = "Portugal"

[places]
countries = ["PT"]

[languages]
own = ["pt"]
varieties = ["pt-PT"]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bowerbird.flows.files.sections.place_plans import SearchPlan
from bowerbird.flows.files.store_named import read_text
from bowerbird.flows.flow import Vocabulary
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.language.tables import Table
from bowerbird.flows.language.toml_lines import read
from bowerbird.model import Service
from bowerbird.model.subjects.community import RULES, Community
from bowerbird.model.subjects.countries import COUNTRIES

COMMUNITY_KEYS = ("name", "rule", "yes", "no", "places", "time", "languages", "names", "words", "relations")
TABLE_KEYS = {
    "places": ("countries", "own", "other"),
    "time": ("zones",),
    "languages": ("own", "varieties", "other_varieties"),
    "names": ("countries",),
    "words": ("own", "other", "search", "learn"),
    "relations": ("on",),
}
"""The tables, each with its keys; any of them may be left out."""
VARIETIES = ("pt-PT", "pt-BR")
"""Those that can be told apart."""
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_LONGEST = 100
_OFTEN = timedelta(minutes=15)
_USUAL = Community(name="")


def read_community(path: Path) -> Community:
    """The community in a file; raises `FlowError` naming the line, or the file when it cannot be read."""
    return parse_community(read_text(path), path)


def parse_community(text: str, path: Path) -> Community:
    return community_of(Table(read(text, str(path))), path.stem)


def crawled_community(table: Table, folder: Path) -> Community | None:
    """The community of a crawl file; a file that it names lies in the folder, or below it."""
    if "community" not in table.values:
        return None
    inner = table.table("community")
    if "file" not in inner.values:
        return community_of(inner, "community")
    inner.only(("file",), "a [community] with a file of its own")
    named = folder / Path(inner.required("file", 'file = "pt.toml"')).expanduser()
    if not named.is_file():
        write = "write one with `bowerbird community new PT`, or correct the path"
        raise inner.wrong("file", f"there is no file {str(named)!r}", write, code="file_not_found")
    return read_community(named)


def community_of(table: Table, name: str) -> Community:
    """The community in a table; `name`: what it is called where it does not say."""
    table.only(COMMUNITY_KEYS, "a community")
    for key, keys in TABLE_KEYS.items():
        table.table(key).only(keys, f"[{key}] of a community")
    if not any(any(table.table(key).values.values()) for key in TABLE_KEYS if key != "relations"):
        raise table.wrong(
            None, "nothing says who belongs", f"add at least one of [{'], ['.join(list(TABLE_KEYS)[:-1])}]", code="missing_value"
        )
    places, languages, words = table.table("places"), table.table("languages"), table.table("words")
    return Community(
        name=table.text("name", name),
        rule=_rule(table),
        yes=_certainty(table, "yes", _USUAL.yes),
        no=_certainty(table, "no", _USUAL.no),
        countries=_countries(places),
        own_places=_texts(places, "own"),
        other_places=_texts(places, "other"),
        zones=_zones(table.table("time")),
        languages=_languages(languages),
        varieties=_varieties(languages, "varieties"),
        other_varieties=_varieties(languages, "other_varieties"),
        name_countries=_countries(table.table("names")),
        own_words=_texts(words, "own"),
        other_words=_texts(words, "other"),
        searches=_texts(words, "search"),
        learns_words=words.truth("learn", False),
        uses_relations=table.table("relations").truth("on", True),
    )


def community_searches(
    community: Community | None, services: Sequence[Service], vocabulary: Vocabulary
) -> tuple[SearchPlan, ...]:
    """The searches that find people, on the services that have any."""
    if community is None or not community.searches:
        return ()
    return tuple(
        SearchPlan(service=each.name, facet="search", targets=community.searches, every=_OFTEN)
        for each in services
        if "search" in vocabulary.facets(each.provider)
    )


def _rule(table: Table) -> str:
    rule = table.text("rule", _USUAL.rule)
    if rule not in RULES:
        raise table.wrong("rule", f"unknown rule {rule!r}{meant(rule, RULES)}", f"allowed: {listed(RULES)}", code="unknown_name")
    return rule


def _certainty(table: Table, key: str, usual: float) -> float:
    value = table.number(key, usual)
    if not 0.5 <= value < 1:
        raise table.wrong(key, f"{key} must be a probability of at least 0.5 and below 1, such as 0.9, not {value:g}")
    return value


def _countries(table: Table) -> tuple[str, ...]:
    for code in table.texts("countries"):
        if code not in COUNTRIES:
            example = 'write two letters of ISO 3166, such as "PT"'
            raise table.wrong(
                "countries", f"{code!r} is no country{meant(code.upper(), COUNTRIES)}", example, code="unknown_name"
            )
    return table.texts("countries")


def _zones(table: Table) -> tuple[str, ...]:
    for zone in table.texts("zones"):
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            advice = 'write one such as "Europe/Lisbon"'
            raise table.wrong("zones", f"{zone!r} is no time zone", advice, code="unknown_name") from None
    return table.texts("zones")


def _languages(table: Table) -> tuple[str, ...]:
    for language in table.texts("own"):
        if not _LANGUAGE.fullmatch(language):
            problem = f'{language!r} is no code of a language, such as "pt"; varieties have a list of their own'
            raise table.wrong("own", problem, code="unknown_name")
    return table.texts("own")


def _varieties(table: Table, key: str) -> tuple[str, ...]:
    for variety in table.texts(key):
        if variety not in VARIETIES:
            known = f"{meant(variety, VARIETIES)}; known: {listed(VARIETIES)}"
            raise table.wrong(key, f"nobody here can tell {variety!r} from other varieties{known}", code="unknown_name")
    return table.texts(key)


def _texts(table: Table, key: str) -> tuple[str, ...]:
    for text in table.texts(key):
        if not text.strip() or len(text) > _LONGEST:
            raise table.wrong(key, f"{key} holds words or names of 1 to {_LONGEST} characters, not {text!r:.60}")
    return table.texts(key)
