"""Writes the pages of the reference that the code tells: `python docs/make_reference.py`; a test fails when they are behind.

docs/reference/options.md: every command with its arguments and options, as `--help` has them.
docs/reference/crawl-keys.md: every key of a crawl file, from its JSON Schema.
docs/reference/api.md: what `import bowerbird` offers, with signatures and docstrings.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import bowerbird
from bowerbird.app import vocabulary
from bowerbird.cli import COMMANDS, load
from bowerbird.flows.files.schema import crawl_schema

FOLDER = Path(__file__).parent / "reference"
_MADE = "<!-- Made by docs/make_reference.py: change the code, not this page. -->"


def options_page() -> str:
    parts = [
        _MADE,
        "# Commands and options",
        "As `bowerbird COMMAND --help` says them; with examples and explanations: [commands](../commands.md).",
    ]
    for name in COMMANDS:
        parts += _command(f"bowerbird {name}", load(name))
    return "\n\n".join(parts) + "\n"


def _command(title: str, command: Any) -> Iterator[str]:
    yield f"## `{title}`"
    yield _first(command.help or "")
    if getattr(command, "commands", None):
        for name, inner in command.commands.items():
            yield from _sub(f"{title} {name}", inner)
        return
    yield from _parameters(command)


def _sub(title: str, command: Any) -> Iterator[str]:
    yield f"### `{title}`"
    yield _first(command.help or "")
    yield from _parameters(command)


def _parameters(command: Any) -> Iterator[str]:
    rows = [_row(each) for each in command.params if each.name != "help" and not getattr(each, "hidden", False)]
    if rows:
        yield "\n".join(["| | |", "|---|---|", *rows])


def _row(each: Any) -> str:
    if each.param_type_name == "argument":
        name = f"`{each.make_metavar(click.Context(click.Command('x')))}`"
    else:
        names = ", ".join(f"`{option}`" for option in (*each.opts, *each.secondary_opts))
        name = names if each.is_flag else f"{names} {_kind(each)}"
    return f"| {name} | {_cell(each.help or '')}{_default(each)} |"


def _kind(each: Any) -> str:
    choices = getattr(each.type, "choices", None)
    if choices:
        return " ".join(f"`{getattr(choice, 'value', choice)}`" for choice in choices)
    return f"*{_cell(each.metavar or each.type.name)}*"


def _default(each: Any) -> str:
    if (
        getattr(each, "is_flag", False)
        or each.default in (None, "", (), [])
        or callable(each.default)
        or "efault" in (each.help or "")
    ):
        return ""
    return f" Default: `{getattr(each.default, 'value', each.default)}`."


def keys_page() -> str:
    schema = crawl_schema(vocabulary())
    parts = [
        _MADE,
        "# Keys of a crawl file",
        "From the JSON Schema that `bowerbird flow schema` writes; explained in [crawl files](../crawl-file.md).",
    ]
    parts += _table("The file", schema)
    for name, kind in schema["properties"].items():
        inner = _inner(kind)
        if inner is not None:
            parts += _table(
                f"`{'[[' if kind.get('type') == 'array' else '['}{name}{']]' if kind.get('type') == 'array' else ']'}`", inner
            )
    for name, kind in schema["properties"]["modules"]["properties"].items():
        parts += _table(f"`[modules.{name}]`", kind)
    return "\n\n".join(parts) + "\n"


def _inner(kind: dict[str, Any]) -> dict[str, Any] | None:
    for way in (kind, kind.get("items", {}), *kind.get("anyOf", ())):
        if "properties" in way:
            return dict(way)
    return None


def _table(title: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}"
    rows = [
        f"| `{name}` | {_value(kind)} | {_cell(kind.get('description', ''))} |" for name, kind in schema["properties"].items()
    ]
    yield "\n".join(["| key | value | meaning |", "|---|---|---|", *rows])


def _value(kind: dict[str, Any]) -> str:
    if "enum" in kind:
        return " ".join(f"`{value}`" for value in kind["enum"])
    if "oneOf" in kind:
        return "text or list of texts"
    if "anyOf" in kind:
        return "see below"
    if "pattern" in kind and "wdhms" in kind["pattern"]:
        return "duration"
    names = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "array": "list",
        "object": "table",
    }
    return names[kind["type"]]


def api_page() -> str:
    parts = [_MADE, "# The Python API", "Everything that `import bowerbird` offers; with examples: [Python](../python.md)."]
    for name in sorted(set(bowerbird.__all__) - {"__version__"}):
        parts += _member(name, getattr(bowerbird, name))
    return "\n\n".join(parts) + "\n"


def _member(name: str, member: Any) -> Iterator[str]:
    yield f"## `bowerbird.{name}`"
    if inspect.isclass(member):
        yield _first(inspect.getdoc(member) or "")
        fields = getattr(member, "__struct_fields__", ())
        if fields:
            yield "Fields: " + ", ".join(f"`{field}`" for field in fields) + "."
        for method, function in inspect.getmembers(member, inspect.isfunction):
            if not method.startswith("_") and function.__qualname__.startswith(member.__name__):
                yield f"`{method}{_signature(function)}`: {_first(inspect.getdoc(function) or '')}"
        return
    yield f"```python\n{name}{_signature(member)}\n```"
    yield inspect.getdoc(member) or ""


def _signature(function: Any) -> str:
    shown = re.sub(r"\(self(, )?", "(", str(inspect.signature(function))).replace("'", "")
    # What a default value is called when it runs says nothing.
    return re.sub(r"[\w.]+\([^()]*<function[^()]*\)|<function .*? at 0x\w+>", "…", shown)


def _first(text: str) -> str:
    return " ".join(re.split(r"\n\s*\n", text.strip())[0].split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES = {"options.md": options_page, "crawl-keys.md": keys_page, "api.md": api_page}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made(), encoding="utf-8")
        print(f"docs/reference/{name} is written")
