"""Compare the public surface with surface.txt: `python tests/contract/surface.py [--write]`.

The surface is what users, their scripts and their crawl files rely on. The file has one fact a
line, sorted, and each line is complete in itself: a diff of it shows what came, what went and what
changed without its context, `git log -p` shows when, and branches that change different facts
merge. The first word is the area, the rest is `NAME: FACTS`.

    api         names that `import bowerbird` offers, what they return, and signatures
    command     commands with their arguments (by position) and options
    crawl-file  keys of a crawl file, from the JSON Schema that `bowerbird flow schema` writes
    exit        exit codes, as commands returned them (surface_outputs.py)
    export      tables and columns, formats, networks
    facet       what can be asked of each network
    flow        built-in flows
    json        keys of the `--json` outputs, as commands printed them (surface_outputs.py)
    route       addresses of the dashboard and of the coordinator, and who may use them
    setting     environment variables, keys of `config.toml`, fields of secrets
    stream      channels of each network and their options
    view        views of a store and their columns

Not covered: messages and help texts, options of rankers (a free table), the JSON that the
dashboard's own scripts read, the bodies of the coordinator's requests, log lines, and the outputs
that surface_outputs.NOT_RUN lists.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import io
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import typer
from surface_outputs import output_lines

import bowerbird
from bowerbird import cli, settings
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.export.jobs.naming import ENDINGS
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.limits.credentials import KINDS as CREDENTIAL_KINDS
from bowerbird.limits.credentials import PROVIDERS, required_fields
from bowerbird.model import Facet
from bowerbird.remote.description import openapi
from bowerbird.reports.blocks.networks import KINDS as NETWORK_KINDS
from bowerbird.vocabulary import vocabulary
from bowerbird.web.dashboard import dashboard_routes
from bowerbird.web.security.guard import role_of
from bowerbird.web.site import Site

FILE = Path(__file__).with_name("surface.txt")
UPDATE = "python tests/contract/surface.py --write"
_PLAIN = str | int | float | tuple | None
"""Defaults that are shown as they are; of others the signature says that there is one."""
_TYPES = {"str": "text", "int": "integer", "int range": "integer", "float range": "float"}
"""Names of the types of parameters, as they differ between click and its copy in typer."""


def code_lines() -> list[str]:
    """Return the facts that the code tells without a crawl."""
    readers = (
        command_lines,
        crawl_file_lines,
        flow_lines,
        facet_lines,
        export_lines,
        route_lines,
        setting_lines,
        api_lines,
    )
    return [*asyncio.run(view_lines()), *(line for reader in readers for line in reader())]


def surface() -> list[str]:
    """Return the whole surface, as the file has it."""
    return sorted({*code_lines(), *output_lines()})


def difference(recorded: list[str], found: list[str]) -> str:
    """Return the lines that went (-) and came (+), and how to record them; empty without any."""
    changed = [line for line in difflib.ndiff(recorded, found) if line[0] in "+-"]
    if not changed:
        return ""
    advice = f"If this change is intended, run `{UPDATE}` and commit the file."
    return "\n".join([f"The public surface is not that of {FILE.name}. {advice}", *changed])


# Commands


def command_lines() -> Iterator[str]:
    """Yield every command with its parameters, from the command tree."""
    root = typer.main.get_command(cli.app)
    yield f"command bowerbird: help {' '.join(root.context_settings['help_option_names'])}"
    yield from _parameter_lines("bowerbird", root.params)
    for name in cli.COMMANDS:
        yield from _tree_lines(f"bowerbird {name}", cli.load(name))


def _tree_lines(name: str, command: Any) -> Iterator[str]:
    below = getattr(command, "commands", {})
    for each, inner in below.items():
        yield from _tree_lines(f"{name} {each}", inner)
    if not below:
        yield f"command {name}"
    yield from _parameter_lines(name, command.params)


def _parameter_lines(command: str, parameters: list[Any]) -> Iterator[str]:
    position = 0
    for each in parameters:
        facts = ["flag"] if getattr(each, "is_flag", False) else [_kind(each.type)]
        if each.param_type_name == "argument":
            position += 1
            name = f"{position} {each.metavar or each.name.upper()}"
        else:
            name = " ".join((*each.opts, *(f"/ {no}" for no in each.secondary_opts)))
            facts += [each.metavar] if each.metavar else []
        facts += ["required"] if each.required else []
        facts += ["repeatable"] if getattr(each, "multiple", False) or each.nargs == -1 else []
        is_said = each.default is not False and each.default != ""
        if is_said and isinstance(each.default, str | int | float):
            facts.append(f"default {getattr(each.default, 'value', each.default)}")
        yield f"command {command} {name}: {', '.join(facts)}"


def _kind(kind: Any) -> str:
    if choices := getattr(kind, "choices", None):
        return "one of " + " ".join(str(getattr(each, "value", each)) for each in choices)
    if hasattr(kind, "func"):
        # The type has the name of our own function that reads the text.
        return "text"
    bounds = {">=": getattr(kind, "min", None), "<=": getattr(kind, "max", None)}
    limits = (f"{sign} {bound}" for sign, bound in bounds.items() if bound is not None)
    return " ".join([_TYPES.get(kind.name, kind.name), *limits])


def _printed(*arguments: str) -> str:
    """Return what a command prints."""
    with io.StringIO() as text, redirect_stdout(text):
        code = cli.run(arguments)
        if code:
            raise RuntimeError(f"bowerbird {' '.join(arguments)} ended with exit code {code}")
        return text.getvalue()


# Crawl files, flows and facets


def crawl_file_lines() -> Iterator[str]:
    """Yield every key of a crawl file with what it takes, from its JSON Schema."""
    schema = msgspec.json.decode(_printed("flow", "schema"))
    whole = schema["properties"]
    for name in whole["flow"]["anyOf"][-1]["properties"]:
        table = whole["flow"]["anyOf"][-1]["properties"][name]
        if name in whole and table.get("properties") == whole[name].get("properties"):
            # The same table as at the top of the file.
            table.pop("properties", None)
    for path, fact in _schema_facts("", schema):
        yield f"crawl-file {path}: {fact}"


def _schema_facts(path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if path:
        yield path, _value(schema)
    for way in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        items = way.get("items", {})
        if "properties" in items:
            yield from _key_facts(f"{path}[]", items)
        if "properties" in way:
            yield from _key_facts(path, way)


def _key_facts(path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    properties, required = schema["properties"], schema.get("required", ())
    kinds = list(properties.values())
    if len(kinds) > 1 and "properties" in kinds[0] and all(each == kinds[0] for each in kinds):
        # Tables named after facets, which have lines of their own.
        properties = {"*": kinds[0]}
    for name, kind in properties.items():
        for inner, fact in _schema_facts(f"{path}.{name}".removeprefix("."), kind):
            is_needed = name in required and inner.endswith(f".{name}")
            yield inner, fact + ", required" * is_needed


def _value(schema: Mapping[str, Any]) -> str:
    """Return the values that a key takes, in one line."""
    if ways := (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        return " or ".join(dict.fromkeys(map(_value, ways)))
    if "enum" in schema:
        return "one of " + " ".join(map(str, schema["enum"]))
    if "items" in schema:
        return f"list of ({_value(schema['items'])})"
    limits = sorted(name for name in schema if name.lower().endswith(("imum", "items")))
    pattern = schema.get("pattern", "")
    name = "duration" if "wdhms" in pattern else f"{schema['type']} {pattern}".strip()
    is_open = schema["type"] == "object" and schema.get("additionalProperties", True) is True
    facts = " ".join([name, *(f"{limit} {schema[limit]}" for limit in limits)])
    return facts + (", other keys too" if is_open else "")


def flow_lines() -> Iterator[str]:
    """Yield facets, edges and other keys of each built-in flow, as `bowerbird flow show` does."""
    for each in msgspec.json.decode(_printed("flow", "list", "--json").splitlines()[-1])["flows"]:
        name = each["name"]
        flow = msgspec.json.decode(_printed("flow", "show", name, "--json").splitlines()[-1])
        yield f"flow {name}: seeds {' '.join(flow.pop('seeds'))}"
        for facet in flow.pop("facets"):
            yield f"flow {name} facet {facet.pop('name')}: {_set_values(facet)}"
        for edge in flow.pop("edges"):
            yield f"flow {name} edge {edge.pop('source')} to {edge.pop('to')}: {_set_values(edge)}"
        for key in sorted(flow.keys() - {"name", "about", "image"}):
            if flow[key] not in (None, [], {}):
                value = _set_values(flow[key]) if isinstance(flow[key], dict) else flow[key]
                yield f"flow {name} {key}: {value}"


def _set_values(table: Mapping[str, Any]) -> str:
    """Return the keys of a table that say something."""
    said = {name: value for name, value in table.items() if value not in (None, [], {}, "", False)}
    written = {name: msgspec.json.encode(said[name], order="sorted").decode() for name in said}
    return ", ".join(f"{name} {value}" for name, value in written.items())


def facet_lines() -> Iterator[str]:
    """Yield what each network can be asked and listened to for."""
    words = vocabulary()
    for provider in words.providers:
        for name, facet in words.providers[provider].items():
            yield f"facet {provider} {name}: {_about(facet)}"
        for name, channel in words.channels.get(provider, {}).items():
            yield f"stream {provider} {name}: {_about(channel.facet)}"
            for option in channel.options:
                fact = ": required" if option in channel.needs else ""
                yield f"stream {provider} {name} option {option}{fact}"
        for way in words.place_ways.get(provider, ()):
            yield f"facet {provider} places by {way}"


def _about(facet: Facet) -> str:
    fact = f"of {facet.subject}, yields {' '.join(sorted(facet.yields))}"
    return fact + (", billed" if facet.is_paid else "")


# Stores and exports


async def view_lines() -> list[str]:
    """Return the views of an empty store with their columns."""
    database = await open_database(":memory:", RealClock())
    try:
        await database.create_tables()
        async with database.reading() as tx:
            columns = await tx.fetch(
                "select v.name as view, c.name "
                "from sqlite_master v join pragma_table_info(v.name) c "
                "where v.type = 'view' and substr(v.name, 1, 2) = 'v_' order by v.name, c.cid",
            )
    finally:
        await database.close()
    views: dict[str, dict[str, str]] = {}
    for row in columns:
        views.setdefault(row["view"], {})[row["name"]] = ""
    return [line for view, names in views.items() for line in _table_lines("view", view, names)]


def _table_lines(area: str, table: str, columns: Mapping[str, str]) -> Iterator[str]:
    """Yield the order of the columns in one line, and each column in its own."""
    yield f"{area} {table}: {' '.join(columns)}"
    for name, kind in columns.items():
        yield f"{area} {table}.{name}" + (f": {kind}" if kind else "")


def export_lines() -> Iterator[str]:
    """Yield the tables that are exported, their columns in order, the formats and the networks."""
    for name, shape in SHAPES.items():
        columns = {column.name: str(column.kind) for column in shape.columns}
        yield from _table_lines("export", name, columns)
    for name, ending in ENDINGS.items():
        yield f"export format {name}: .{ending}"
    for kind in NETWORK_KINDS:
        yield f"export network of kind {kind}"


# HTTP


def route_lines() -> Iterator[str]:
    """Yield the routes of the dashboard and of the coordinator, and who may use each."""
    # Nothing is asked: the routes can be listed without a database.
    site = Site(typing.cast("Any", None), RealClock(), "surface")
    routes: list[Any] = dashboard_routes(site)
    for route in routes:
        role = role_of(route.endpoint)
        who = "everybody" if role is None else role.word
        for method in sorted(route.methods - {"HEAD"}):
            yield f"route dashboard {route.path} {method}: {who}"
    for topic in site.live.topics:
        yield f"route dashboard /live/{topic}"
    described = openapi()
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            is_open = about.get("security", described.get("security")) in (None, [])
            who = "everybody" if is_open else "token of a worker"
            yield f"route coordinator {path} {method.upper()}: {who}"


# Settings


class _Environment(Mapping[str, str]):
    """An environment without variables that notes the names it is asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def setting_lines() -> Iterator[str]:
    """Yield environment variables, keys of `config.toml`, and fields of secrets."""
    asked = _Environment()
    settings.load_settings(environment=asked)
    settings.secret_from_environment("<field>", asked)
    settings.service_manager(asked)
    for name in asked.asked:
        yield f"setting {name}"
    for key in settings.FILE_KEYS:
        yield f"setting config.toml {key}"
    for provider, kind in product(PROVIDERS, CREDENTIAL_KINDS):
        ways = (" ".join(fields) for fields in required_fields(provider, kind))
        yield f"setting secret of {provider} {kind}: {' or '.join(ways)}"


# Python


def api_lines() -> Iterator[str]:
    """Yield what the package offers, and public members of the classes that this leads to."""
    waiting: list[type] = []
    for name in sorted({*bowerbird.__all__} - {"__version__"}):
        member = getattr(bowerbird, name)
        is_class = inspect.isclass(member)
        yield f"api bowerbird.{name}" + (": class" if is_class else _signature(member))
        waiting += [member] if is_class else _named(member)
    seen: set[type] = set()
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen.add(kind)
            yield f"api {kind.__name__}: class"
            for name, fact, returned in _members(kind):
                yield f"api {kind.__name__}.{name}{fact}"
                waiting += returned


def _members(kind: type) -> Iterator[tuple[str, str, list[type]]]:
    """Yield name, signature or type, and returned classes of the members that our code defines."""
    is_struct = hasattr(kind, "__struct_fields__")
    for owner in (each for each in kind.__mro__ if each.__module__.startswith("bowerbird")):
        for name, annotation in inspect.get_annotations(owner).items():
            yield name, f": {annotation}", []
        for name, member in vars(owner).items():
            is_public = not name.startswith("_") or (name == "__init__" and not is_struct)
            if isinstance(member, property):
                yield (
                    name,
                    f": {_annotation(inspect.signature(member.fget).return_annotation)}, read only",
                    [],
                )
            elif issubclass(kind, StrEnum) and isinstance(member, kind):
                yield name, f" = {member.value}", []
            elif inspect.isfunction(member) and is_public:
                yield name, _signature(member), _named(member, is_result=True)


def _signature(function: Any) -> str:
    """Return parameters, plain defaults and result as they are written."""
    signature = inspect.signature(function)
    shown = []
    for each in signature.parameters.values():
        if each.name != "self":
            plain = each.replace(annotation=_Written(_annotation(each.annotation)))
            if each.default is not each.empty and not isinstance(each.default, _PLAIN):
                plain = plain.replace(default=...)
            shown.append(plain)
    result = _Written(_annotation(signature.return_annotation))
    return str(signature.replace(parameters=shown, return_annotation=result))


class _Written:
    """An annotation that is shown as it is written, without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _named(function: Any, *, is_result: bool = False) -> list[type]:
    """Return our own classes that the annotations of a function name, or that of its result."""
    annotations = inspect.get_annotations(function)
    texts = [annotations.get("return", "")] if is_result else annotations.values()
    words = (word for text in texts for word in re.findall(r"\w+", str(text)))
    classes = filter(inspect.isclass, map(function.__globals__.get, words))
    return [each for each in classes if each.__module__.startswith("bowerbird")]


def main(arguments: list[str]) -> int:
    """Write the file, or say how the surface differs from it and return 1."""
    found = surface()
    if arguments == ["--write"]:
        FILE.write_text("\n".join(found) + "\n", encoding="utf-8")
        print(f"{FILE} has {len(found):,} lines.")
        return 0
    told = difference(FILE.read_text("utf-8").splitlines(), found)
    print(told or "The public surface is as recorded.")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
