"""A crawl file to start from, with a comment on everything one may want to change."""

from __future__ import annotations

from bowerbird.flows.flow import Flow
from bowerbird.flows.language.spelling import spell
from bowerbird.model import TRAITS
from bowerbird.model.money import DEFAULT_DOLLARS

_TEXT = """\
# {about}
# Run it with: bowerbird crawl {file}     Draw its flow with: bowerbird flow show {flow}

flow = "{flow}"
store = "{name}.db"                # one SQLite file, or postgresql://user@host/database

{seeds}# contact = "you@university.edu"   # told to the service, so that its operators can reach you

[service]
provider = "{provider}"
base = "{base}"
# credentials = ["mine"]           # by name, from `bowerbird credentials list`; default: all that belong to this server
{cap}{parts}
# {end}
[stop]
# calls = 10000
# posts = 1000000
{budget}{stop}
"""

_CAP = """\
dollars = {dollars:<24g} # the cap: all crawls of this store spend at most so much on it in a calendar month (UTC)
"""
_BUDGET = "# dollars = 5                     # so much in all, over every run of this crawl\n"

_ENDS = "The crawl ends at the first of these, and by itself when there is nothing left to ask."
_GOES_ON = "The crawl looks for news again and again: it ends at the first of these, or when it is stopped."

_SEEDS = """\
# What to start from: {what}.
# Or from a file, in place of the next line: seeds.file = "seeds.txt" (one per line), or seeds.file = "seeds.csv" and
# seeds.column = "id" in another line
seeds = ["{seed}"]

"""

_STREAM = """
# What to listen to; several are allowed, each with its own name. docs/providers.md lists channels and their options.
[[streams]]
{stream}
"""
_PLACES = """
# What it is about: boxes (west, south, east, north), or cities and countries by name, each in a table of its own.
[[places]]
name = "Lisbon"
box = [-9.5, 38.6, -9.0, 38.9]
"""

_COMMUNITY = """
# Who belongs. `bowerbird community new PT` writes a fuller description into a file; then write here only file = "pt.toml".
[community]
name = "Portugal"
places.countries = ["PT"]
time.zones = ["Europe/Lisbon", "Atlantic/Madeira", "Atlantic/Azores"]
languages.own = ["pt"]
languages.varieties = ["pt-PT"]
languages.other_varieties = ["pt-BR"]
names.countries = ["PT"]
"""

_KEYWORDS = """
# How keywords enter and leave; docs/crawl-file.md lists all keys.
# [keywords]
# methods = ["burst"]              # several work side by side: "skwa", "rkwa", "baseline", "naive"
# frame = "5m"                     # a decision at the end of each frame
# blacklist = ["#nowplaying"]      # terms that never become keywords
"""

_INSTEAD = """\
# To change a part of the flow, take out the line flow = "{flow}" above and write here:
# [flow]
# use = "{flow}"
"""


def example(flow: Flow, provider: str, name: str = "crawl", *, is_paid: bool = False) -> str:
    """The text of a crawl file for a flow and a provider; it can be run as it is. `is_paid`: whether the network costs money."""
    text = _TEXT.format(
        about=flow.about or flow.name,
        file=f"{name}.toml",
        name=name,
        flow=flow.name,
        seeds=_seeds(flow, provider),
        parts=_parts(flow, provider),
        provider=provider,
        base=_base(flow, provider),
        cap=_CAP.format(dollars=DEFAULT_DOLLARS) if is_paid else "",
        budget=_BUDGET if is_paid else "",
        end=_GOES_ON if _never_ends(flow) else _ENDS,
        stop='duration = "7d"' if _never_ends(flow) else '# duration = "7d"',
    )
    return text + _overrides(flow, is_paid=is_paid)


def _base(flow: Flow, provider: str) -> str:
    """Where to ask; what takes a login is asked where one can log in."""
    is_search = bool(flow.seeds) and flow.seeds[0] in ("search", "hashtag")
    return (TRAITS[provider].login if is_search else "") or TRAITS[provider].base


def _seeds(flow: Flow, provider: str) -> str:
    if not flow.seeds:
        return ""
    seed, what = _seed(flow.seeds[0], provider)
    if flow.needs_community:
        what += " of members you know, the more the better; the one below only shows how they are written"
    return _SEEDS.format(what=what, seed=seed)


def _parts(flow: Flow, provider: str) -> str:
    if flow.needs_places:
        return _PLACES
    if flow.needs_community:
        return _COMMUNITY
    keywords = _KEYWORDS if flow.keywords else ""
    stream = TRAITS[provider].example.stream
    if not flow.listens or not stream:
        return keywords
    text = _STREAM.format(stream=stream)
    if flow.seeds:
        # Where seeds are asked for, a stream is an extra.
        text = "".join(f"# {line}" if line[0] not in "#\n" else line for line in text.splitlines(True))
    return text + keywords


def _never_ends(flow: Flow) -> bool:
    return flow.listens or any(use.comes_round for use in flow.facets)


def _overrides(flow: Flow, *, is_paid: bool) -> str:
    """The settings people change most, as comments that show what holds now."""
    lines = [f"# max_depth = {flow.filters.max_depth}"] if flow.filters.max_depth is not None else []
    lines += [f"# max_users = {flow.filters.max_users}"] if flow.filters.max_users is not None else []
    text = "\n[filters]\n" + "\n".join(lines) + "\n" if lines else ""
    revisited = [use for use in flow.facets if use.revisit]
    spared = [use for use in flow.facets if use.unless_paid and is_paid]
    if not revisited and not spared:
        return text
    changes = "".join(f'# [flow.facets.{use.name}]\n# revisit = "{spell(use.revisit)}"\n' for use in revisited if use.revisit)
    changes += "".join(f"# [flow.facets.{use.name}]\n# on = true                        # each costs money\n" for use in spared)
    return f"{text}\n{_INSTEAD.format(flow=flow.name)}{changes}"


def _seed(facet: str, provider: str) -> tuple[str, str]:
    """A seed that the facet takes on this network, and what such seeds are."""
    begin = TRAITS[provider].example
    if facet in ("posts", "post", "thread", "reposts", "likes", "quotes"):
        return begin.post, "ids of posts"
    if facet in ("hashtag", "search"):
        return begin.word, begin.words_are
    return begin.user, "accounts: handles or ids"
