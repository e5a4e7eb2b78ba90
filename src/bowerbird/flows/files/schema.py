"""The JSON Schema of crawl and flow files: what editors complete and check while they are written.

It knows keys, kinds of values and names of flows, providers and rankers. What only the whole file can tell (whether a facet
exists on a network, whether an edge leads anywhere) is checked by `bowerbird flow check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from bowerbird.flows.files.community_file import VARIETIES
from bowerbird.flows.files.sections.place_plans import WAYS
from bowerbird.flows.flow import TAKES, Vocabulary
from bowerbird.flows.keywords import WAYS as KEYWORD_WAYS
from bowerbird.flows.language.spelling import spell
from bowerbird.model import Signal
from bowerbird.model.modules import ModuleOption
from bowerbird.model.subjects.community import RULES
from bowerbird.model.subjects.keywords import MethodOption

Schema = dict[str, Any]
_DURATION = {"type": "string", "pattern": r"^\s*(\d+(\.\d+)?\s*[wdhmsWDHMS]\s*)+$"}
_TEXT: Schema = {"type": "string"}
_TRUTH: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_NUMBER: Schema = {"type": "number"}
_DOLLARS: Schema = {"type": "number", "exclusiveMinimum": 0}
_TEXTS: Schema = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_ANY: Schema = {"type": "object"}
_STOP: dict[str, tuple[Schema, str]] = {
    "calls": (_COUNT, "So many calls made."),
    "items": (_COUNT, "So many items collected: accounts, posts, relations, reactions and tags, each counted once."),
    "users": (_COUNT, "So many accounts collected."),
    "posts": (_COUNT, "So many posts collected."),
    "dollars": (_DOLLARS, "So many dollars spent in all (X)."),
    "duration": (_DURATION, 'So long in all, over every run: "90m", "7d".'),
    "spread": (_TRUTH, "Make `calls` last for all of `duration`."),
    "when_empty": (_TRUTH, "End when nothing waits and nothing will come due. Default: true."),
    "half_width": (_NUMBER, "A sample is good enough: intervals of at most so much to either side."),
    "estimates": (_TEXTS, "What `half_width` is about: degree, followers, language:pt …"),
}
_FILTERS: dict[str, tuple[Schema, str]] = {
    "languages": (_TEXTS, "Posts and accounts in other languages lead nowhere."),
    "keywords": (_TEXTS, "Posts without any of these words or hashtags lead nowhere."),
    "when": (_TEXT, "A condition which everybody found on the way must fulfil."),
    "follow_opted_out": (_TRUTH, "Follow accounts that asked not to be collected. Only with their consent."),
    "max_depth": (_COUNT, "Nobody farther from the seeds than this."),
    "max_users": (_COUNT, "So many accounts are asked about, seeds included."),
    "max_followers": (_COUNT, "Longer lists of followers are left out."),
    "max_following": (_COUNT, "Longer lists of followed accounts are left out."),
}
_FACET: dict[str, tuple[Schema, str]] = {
    "ranker": (_TEXT, "Who is asked next."),
    "options": (_ANY, "Options of the ranker."),
    "weight": (_NUMBER, "Share of the calls where facets compete. Default: 1."),
    "revisit": (_DURATION, 'Ask again after this time: "15m", "7d".'),
    "max_pages": (_COUNT, "End a visit after so many pages."),
    "large_share": (_NUMBER, "Part of the calls that very long lists may take while shorter ones wait."),
    "large_after": (_COUNT, "Pages after which a list is such a long one. Default: 5."),
    "optional": (_TRUTH, "Left out where the network has no such facet."),
    "unless_paid": (_TRUTH, "Left out where the network bills what it lists."),
    "on": (_TRUTH, "false switches the facet off."),
    "hints": (_ANY, "Passed on to the request."),
    "credentials": (_TEXTS, "Names in the vault: this facet is asked with these alone."),
}
_EDGE: dict[str, tuple[Schema, str]] = {
    "from": (_TEXT, 'A facet of this flow, or "stream".'),
    "to": (_TEXTS, "The facet, or facets, that targets go to."),
    "take": ({"enum": sorted(TAKES)}, "What becomes a target."),
    "when": (_TEXT, "A condition; without it every target taken goes on."),
    "wakes": (_TRUTH, "Whether a target that is known and asleep is asked again."),
    "optional": (_TRUTH, "Left out where the network's pages do not carry what it takes."),
    "instead": (_TRUTH, "Holds only where `unless_paid` leaves facets out."),
}
_SEEDS: dict[str, tuple[Schema, str]] = {
    "list": (_TEXTS, "Handles, ids, addresses, hashtags."),
    "file": (_TEXT, "One a line, or a CSV."),
    "column": (_TEXT, "Of the CSV."),
    "query": (_TEXT, '"users where followers > 1000", chosen from what is stored.'),
    "store": (_TEXT, "Another store that the query is put to."),
}
_STREAM: dict[str, tuple[Schema, str]] = {
    "channel": (_TEXT, "Which stream of the network."),
    "base": (_TEXT, "Where it streams from; default: the service's own address."),
    "service": (_TEXT, "Which of several services the items belong to."),
    "name": (_TEXT, "Default: the channel."),
    "credential": (_TEXT, "A name in the vault."),
}
_PLACE: dict[str, tuple[Schema, str]] = {
    "name": (_TEXT, "Of the place; also what is looked up."),
    "box": ({"type": "array", "items": _NUMBER, "minItems": 4, "maxItems": 4}, "[west, south, east, north] in degrees."),
    "where": (_TEXT, "A city, region or country to look up instead of the name."),
    "by": ({"enum": list(WAYS)}, "How the network is asked about it."),
    "every": (_DURATION, "Searches are made again after this time."),
}
_KEYWORDS: dict[str, tuple[Schema, str]] = {
    "methods": (_TEXTS, "Methods that decide which keywords enter and leave; each has its own keywords. Default: burst."),
    "frame": (_DURATION, 'How long posts are counted before the next decision. Default: "5m".'),
    "slots": ({"type": "integer", "minimum": 3, "maximum": 60}, "Parts of a frame in which traffic is counted. Default: 10."),
    "most": (_COUNT, "Keywords of each method at once. Default: 400; on Weibo 100."),
    "min_frequency": (_COUNT, "Posts of a frame in which a term must occur to be looked at. Default: 3."),
    "quiet_frames": (_COUNT, "A keyword leaves after so many quiet frames in a row. Default: 12."),
    "lose_seeds": (_TRUTH, "Whether seeds leave by that rule too."),
    "blacklist": (_TEXTS, "Terms that never become keywords."),
    "volume": (_COUNT, "Posts that a stream brings in a minute at most. Default: as the network has it."),
    "probes": ({"type": "integer", "minimum": 0}, "Searches in each frame that test candidates. Default: 20, on X 2."),
    "by": ({"enum": list(KEYWORD_WAYS)}, "How keywords are collected. Default: by a stream where there is one."),
}
_COMMUNITY_TABLES: dict[str, dict[str, tuple[Schema, str]]] = {
    "places": {
        "countries": (_TEXTS, "Codes of countries: PT."),
        "own": (_TEXTS, "More names of places of the community."),
        "other": (_TEXTS, "Names that look like one and are none."),
    },
    "time": {"zones": (_TEXTS, "Time zones: Europe/Lisbon.")},
    "languages": {
        "own": (_TEXTS, "Languages that its people write: pt."),
        "varieties": ({"type": "array", "items": {"enum": list(VARIETIES)}}, "Varieties of these."),
        "other_varieties": ({"type": "array", "items": {"enum": list(VARIETIES)}}, "Varieties that others write."),
    },
    "names": {"countries": (_TEXTS, "Countries whose names fit.")},
    "words": {
        "own": (_TEXTS, "Words in profiles that speak for it."),
        "other": (_TEXTS, "Words in profiles that speak against it."),
        "search": (_TEXTS, "Searched for, to find people."),
        "learn": (_TRUTH, "Whether words of descriptions are learned from the seeds and members. Default: false."),
    },
    "relations": {"on": (_TRUTH, "Whether judged neighbours count. Default: true.")},
}
_BACKUP: dict[str, tuple[Schema, str]] = {
    "every": (_DURATION, 'How often the store is copied: "1d".'),
    "folder": (_TEXT, 'Default: "backups".'),
    "keep": (_COUNT, "The newest so many stay. Default: 7."),
    "media": (_TEXT, "Copy media too: to a folder, or to s3://BUCKET/FOLDER."),
    "endpoint": (_TEXT, "Of an S3 store, if not Amazon's."),
}
_MEDIA: dict[str, tuple[Schema, str]] = {
    "folder": (_TEXT, 'Where files go. Default: "media".'),
    "kinds": (_TEXTS, "Which media, as the networks call them: photo, image, video …"),
    "max_bytes": (_COUNT, "Larger files are not kept."),
    "private_addresses": (_TRUTH, "For tests against a server on this machine, and for nothing else."),
}
_CARD: dict[str, tuple[Schema, str]] = {
    "title": (_TEXT, "The name of the dataset."),
    "description": (_TEXT, "In one or two sentences what it is."),
    "purpose": (_TEXT, "Why it was collected, and for which questions."),
    "authors": (_TEXTS, "Who collected it."),
    "contact": (_TEXT, "Whom people can ask, for instance to be removed."),
    "licence": (_TEXT, "A name or an address, such as CC-BY-4.0."),
    "citation": (_TEXT, "How to cite it."),
    "url": (_TEXT, "Where it can be found."),
}
_SIGNALS: Schema = {"type": "array", "items": {"enum": [each.value for each in Signal]}}
_CONSENT: dict[str, tuple[Schema, str]] = {
    "opt_out": (_TEXT, "A file of people who are kept out for good: handles, ids or addresses, one a line."),
    "also": (_SIGNALS, "Signs of not wishing to be collected that usually do not count, and do here."),
    "deleted": (
        {"enum": ["erase", "keep"]},
        "What becomes of deleted posts and of what suspended and deleted accounts wrote. `keep` needs a reason.",
    ),
    "override": (_SIGNALS, "Signs of not wishing to be collected that do not count here. Needs a reason."),
    "reason": (_TEXT, "Why signs are overridden; the dataset card says it."),
}


def crawl_schema(words: Vocabulary) -> Schema:
    """Of crawl files: `bowerbird flow schema`."""
    service = _service(words)
    flow = _flow(words)
    flow["properties"]["use"] = {"enum": sorted(words.flows), "description": "The flow that this one changes."}
    keys: dict[str, tuple[Schema, str]] = {
        "name": (_TEXT, "Of the crawl; default: the name of the file."),
        "store": (_TEXT, "A file, postgresql://user@host/database, or vault:NAME. Default: NAME.db beside this file."),
        "flow": ({"anyOf": [{"enum": sorted(words.flows)}, _TEXT, flow]}, "A built-in flow, a flow file, or a table."),
        "service": (service, "The one service to ask."),
        "services": ({"type": "array", "items": service}, "Several services to ask."),
        "seeds": ({"anyOf": [_TEXTS, _table(_SEEDS)]}, "Whom or what to begin with."),
        "streams": ({"type": "array", "items": _table(_STREAM, is_open=True)}, "What to listen to."),
        "places": ({"type": "array", "items": _table(_PLACE)}, "The areas it is about."),
        "community": (_community(), "Whose people it collects."),
        "keywords": (_keywords(words), "How the keywords of an event come and go."),
        "modules": (_modules(words), "Periodic jobs, by name."),
        "stop": (_table(_STOP), "When to end."),
        "filters": (_table(_FILTERS), "Whom to follow."),
        "backup": (_table(_BACKUP), "Copies of the store while it crawls."),
        "history": (_table({"counters": (_DURATION, "Changes of counters alone are kept once in this time.")}), "History."),
        "media": (_table(_MEDIA), "Pictures of the posts to disk."),
        "concurrency": (_COUNT, "Calls in flight at once. Default: 8."),
        "in_memory": (_COUNT, "Targets of each queue that a process holds ahead. Default: 512."),
        "contact": (_TEXT, "Told to the services in the User-Agent."),
        "card": (_table(_CARD), "What only you can say of the data, for its dataset card."),
        "consent": (_table(_CONSENT), "Which opt-outs count, and who is kept out whatever they say."),
    }
    about = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "A crawl file of bowerbird"}
    return about | _table(keys)


def _community() -> Schema:
    tables = {name: (_table(keys), f"Evidence: {name}.") for name, keys in _COMMUNITY_TABLES.items()}
    keys: dict[str, tuple[Schema, str]] = {
        "file": (_TEXT, "A file with the description, instead of all that follows."),
        "name": (_TEXT, "Of the community."),
        "rule": ({"enum": list(RULES)}, "How signs become a decision. Default: calibrated."),
        "yes": (_NUMBER, "The probability from which an account is a member. Default: 0.7."),
        "no": (_NUMBER, "The probability from which an account is not a member. Default: 0.98."),
    }
    return _table({**keys, **tables})


def _service(words: Vocabulary) -> Schema:
    keys: dict[str, tuple[Schema, str]] = {
        "provider": ({"enum": sorted(words.providers)}, "Which API it speaks."),
        "base": ({"type": "string", "pattern": "^https?://"}, "Scheme, host and port: https://mastodon.social."),
        "name": (_TEXT, "Default: the host."),
        "credentials": (_TEXTS, "Names in the vault; default: all that belong to this server."),
        "dollars": (_DOLLARS, "X: what all crawls of the store may spend on it in a calendar month. Default: 10."),
        "limits": (_ANY, "By facet (* for every facet): what this server allows instead of the usual."),
    }
    return _table(keys) | {"required": ["provider", "base"]}


def _flow(words: Vocabulary) -> Schema:
    facet = _table(_FACET)
    facet["properties"]["ranker"]["enum"] = sorted(words.rankers)
    facets = {"type": "object", "properties": dict.fromkeys(sorted(words.facets()), facet), "additionalProperties": False}
    keys: dict[str, tuple[Schema, str]] = {
        "name": (_TEXT, "Of the flow."),
        "about": (_TEXT, "One sentence."),
        "seeds": (_TEXTS, "The facets that seeds go to."),
        "weight": (_NUMBER, "Share of the calls where several flows use the same credentials."),
        "facets": (facets, "What is asked."),
        "edges": ({"type": "array", "items": _table(_EDGE)}, "What a result leads to."),
        "stop": (_table(_STOP), "When the crawl ends by itself."),
        "filters": (_table(_FILTERS), "Whom it follows."),
        "keywords": (_keywords(words), "Its seeds are keywords that change while it runs."),
        "modules": (_modules(words), "Periodic jobs that run with it, by name."),
    }
    return _table(keys)


def _keywords(words: Vocabulary) -> Schema:
    """With a table of options for each method that has any."""
    schema = _table(_KEYWORDS)
    schema["properties"]["methods"] |= {"items": {"enum": sorted(words.methods)}}
    for name, options in words.methods.items():
        schema["properties"][name] = _table(
            {option: (_option(options[option]), f"An option of {name}.") for option in sorted(options)}
        )
    return schema


def _modules(words: Vocabulary) -> Schema:
    """With a table for each module: how often, whether at all, and its own options."""
    found: dict[str, tuple[Schema, str]] = {}
    for name, module in words.modules.items():
        keys: dict[str, tuple[Schema, str]] = {
            "every": (_DURATION, f'How often. Default: "{spell(module.every)}".'),
            "on": (_TRUTH, "false switches it off."),
            **{key: (_module_option(option), _told(option)) for key, option in module.options.items()},
        }
        found[name] = (_table(keys), module.about)
    return _table(found)


def _told(option: ModuleOption) -> str:
    """What an option is, and what holds without it."""
    value = option.default
    if isinstance(value, timedelta):
        usual = f'"{spell(value)}"'
    elif isinstance(value, tuple):
        usual = ", ".join(f'"{each}"' for each in value)
    elif isinstance(value, bool):
        usual = str(value).lower()
    else:
        usual = f'"{value}"' if isinstance(value, str) and value else str(value)
    return f"{option.about} Default: {usual}." if usual else option.about


def _module_option(option: ModuleOption) -> Schema:
    if option.words:
        return {"enum": list(option.words)}
    if isinstance(option.default, int | float) and not isinstance(option.default, bool):
        return {"type": "integer" if isinstance(option.default, int) else "number", "minimum": option.least}
    kinds: dict[type, Schema] = {bool: _TRUTH, str: _TEXT, timedelta: _DURATION, tuple: _TEXTS}
    return kinds[type(option.default)]


def _option(option: MethodOption) -> Schema:
    if option.words:
        return {"enum": list(option.words)}
    if option.between is None:
        return _TRUTH
    low, high = option.between
    return {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high}


def _table(keys: Mapping[str, tuple[Schema, str]], *, is_open: bool = False) -> Schema:
    """`is_open`: it has other keys too, which depend on the network."""
    properties = {name: kind | {"description": words} for name, (kind, words) in keys.items()}
    return {"type": "object", "properties": properties, "additionalProperties": is_open}
