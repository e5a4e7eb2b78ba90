"""A community described for somebody to go on from: packaged examples, or what is known of a country."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from bowerbird.analysis.community.world import Country, country
from bowerbird.analysis.names.fitting import tables
from bowerbird.flows.files.community_file import VARIETIES, parse_community
from bowerbird.model.subjects.community import Community

EXAMPLES = ("BR", "IT", "JP", "PT")
"""Countries of which a description comes with the package."""


def example(code: str) -> Community:
    """A packaged community."""
    return parse_community(described(code), Path(f"{code.lower()}.toml"))


def described(code: str) -> str:
    """The description of a country as TOML: the packaged one, or one made of what is known; raises `UserError`."""
    code = code.strip().upper()
    if code in EXAMPLES:
        return (files(__package__) / "examples" / f"{code.lower()}.toml").read_text("utf-8")
    return generated(country(code))


def generated(told: Country) -> str:
    """A description made of names, languages, time zones and towns of a country."""
    main, *others = told.languages or ("",)
    variety = f"{main}-{told.code}"
    has_names = told.code in tables()
    lines = [
        f'name = "{told.name}"',
        "",
        "# A member must be so likely to be called one, and somebody else to be called none; what is between is undecided.",
        "yes = 0.85",
        "no = 0.99",
        "",
        "# Places are looked up in a list of all towns of the world, in many spellings:",
        f"# {', '.join(told.towns[:6])} … need not be written down.",
        "[places]",
        f'countries = ["{told.code}"]',
        "# Nicknames of towns and regions that no list of places has; and names that look like one of yours and are none.",
        "own = []",
        "other = []",
        "",
        "[time]",
        f"zones = [{_listed(told.zones)}]",
        "",
        "[languages]",
        f"own = [{_listed((main,) if main else ())}]" + (f"  # also spoken: {', '.join(others)}" if others else ""),
    ]
    if variety in VARIETIES:
        lines += [f'varieties = ["{variety}"]', f"other_varieties = [{_listed(v for v in VARIETIES if v != variety)}]"]
    else:
        lines += ['# Only those of Portuguese can be told apart: varieties = ["pt-PT"]']
    lines += [
        "",
        "[names]" if has_names else "# There is no table of names of this country. [names]",
        f'countries = ["{told.code}"]' if has_names else f'# countries = ["{told.code}"]',
        "",
        "# Words in profiles that speak for or against it: what people call themselves, clubs, dialects.",
        "[words]",
        "own = []",
        "other = []",
        "# Searched for every quarter of an hour, to find people: words that few others write. Most networks want a login.",
        "search = []",
        "",
        "# Who follows, mentions and is followed by people who were judged counts too.",
        "[relations]",
        "on = true",
    ]
    return "\n".join((*lines, ""))


def _listed(texts: object) -> str:
    return ", ".join(f'"{text}"' for text in texts)  # type: ignore[attr-defined]
