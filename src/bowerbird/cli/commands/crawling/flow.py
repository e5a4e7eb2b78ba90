"""`bowerbird flow`: list, draw, check and copy crawl flows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bowerbird.app import vocabulary
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.errors import UserError
from bowerbird.flows.drawing import as_svg, as_text
from bowerbird.flows.files.crawl_file import is_crawl, parse_crawl
from bowerbird.flows.files.flow_file import built_in_flow, flow_of
from bowerbird.flows.files.schema import crawl_schema
from bowerbird.flows.files.store_named import read_text
from bowerbird.flows.flow import Flow, Vocabulary, wakes
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.language.toml_lines import read
from bowerbird.starting.plan_checks import sorted_seeds

app = typer.Typer(help="List, draw, check and copy crawl flows.", no_args_is_help=True)

FlowArgument = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in flow, a flow file or a crawl file.")]
ImageOption = Annotated[Path | None, typer.Option("--image", metavar="OUT.svg", help="Draw it as an SVG image into this file.")]


@app.command("list")
def list_flows(as_json: JsonFlag = False) -> None:
    """Say which flows are built in and what each collects."""
    output, words = Output(as_json=as_json), vocabulary()
    flows = [named_flow(name, words) for name in words.flows]
    output.table("", ("flow", "asks for", "collects"), [(flow.name, _facets(flow), flow.about) for flow in flows])
    output.line()
    output.line("Draw one with `bowerbird flow show NAME`; write a crawl file for it with `bowerbird init`.")
    output.result({"flows": [{"name": flow.name, "about": flow.about, "facets": _facets(flow).split(", ")} for flow in flows]})


@app.command()
def show(flow: FlowArgument, image: ImageOption = None, as_json: JsonFlag = False) -> None:
    """Draw a flow as text, and with --image as a picture."""
    output, words = Output(as_json=as_json), vocabulary()
    chosen = named_flow(flow, words)
    facets = words.facets()
    output.line(as_text(chosen, facets))
    if image is not None:
        _write_image(image, as_svg(chosen, facets))
        output.line(f"Image written to {image}.")
    output.result(described(chosen) | {"image": image})


@app.command()
def check(flow: FlowArgument, as_json: JsonFlag = False) -> None:
    """Check a flow or a crawl file and name the line of the first mistake."""
    output, words = Output(as_json=as_json), vocabulary()
    kind, found = _named(flow, words)
    facets, edges = len(found.facets), len(found.edges)
    shape = f"{facets} kind{'s' * (facets != 1)} of question, {edges} way{'s' * (edges != 1)} from one to the next"
    output.line(f"{flow}: this {kind} is fine (flow {found.name!r}: {shape}).")
    output.result({"file": flow, "kind": kind, "flow": found.name, "is_fine": True})


@app.command()
def schema(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A new file; default: standard output.")] = None,
) -> None:
    """Write the JSON Schema of crawl files, with which editors complete and check them as you type."""
    text = msgspec.json.format(msgspec.json.encode(crawl_schema(vocabulary())), indent=2).decode() + "\n"
    if file is None:
        typer.echo(text, nl=False)
        return
    _write_new(file, text)
    typer.echo(f"{file} is written. Put this line at the top of a crawl file beside it: #:schema ./{file.name}")


@app.command()
def copy(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in flow.")],
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A new file; default: NAME.toml.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Copy a built-in flow into a file of your own, to be changed there. Nothing is overwritten."""
    output, words = Output(as_json=as_json), vocabulary()
    if name not in words.flows:
        raise UserError(
            f"There is no built-in flow {name!r}{meant(name, words.flows)}",
            f"built in: {listed(words.flows)}.",
            code="unknown_flow",
        )
    path = file or Path(f"{name}.toml")
    if path.suffix != ".toml":
        raise UserError(f"Cannot copy to {path}: a flow file must be named .toml.")
    _write_new(path, words.flows[name])
    output.line(f"{path} is a copy of {name!r}: change it, check it with `bowerbird flow check {path}`, and use it in a crawl")
    output.line(f'file beside it with: flow = "{path.name}"')
    output.result({"flow": name, "file": path})


def named_flow(name: str, words: Vocabulary) -> Flow:
    """The flow meant by a built-in name or a file; raises `UserError` that says what there is."""
    return _named(name, words)[1]


def _named(name: str, words: Vocabulary) -> tuple[str, Flow]:
    """What a built-in name or a file is, and the flow in it."""
    if name in words.flows:
        return "built-in flow", built_in_flow(name, words)
    if not Path(name).is_file():
        hint = meant(name, words.flows)
        raise UserError(
            f"There is no flow {name!r}{hint}",
            f"built in: {listed(words.flows)}. Or give the path of a flow or crawl file.",
            code="unknown_flow",
        )
    return _checked(Path(name), words)


def described(flow: Flow) -> dict[str, Any]:
    """The flow for machines, with what is left open in the file filled in."""
    values: dict[str, Any] = msgspec.to_builtins(flow)
    for edge, declared in zip(values["edges"], flow.edges, strict=True):
        edge["wakes"] = wakes(declared)
    return values


def _checked(file: Path, words: Vocabulary) -> tuple[str, Flow]:
    text = read_text(file)
    document = read(text, str(file))
    if is_crawl(document):
        plan = parse_crawl(text, file, words)
        sorted_seeds(plan, {}).check()
        return "crawl file", plan.flow
    return "flow file", flow_of(document, words.facets(), words.rankers, words.methods, words.modules)


def _facets(flow: Flow) -> str:
    return ", ".join(use.name for use in flow.facets)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} exists already", "choose another name: nothing is overwritten.", code="already_exists") from None
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}", "choose another place.", code="file_unwritable") from None


def _write_image(path: Path, svg: str) -> None:
    if path.suffix.lower() != ".svg":
        advice = "name it .svg; every browser opens SVG and can print it or save it as PNG"
        raise UserError(f"Cannot draw {path}: images are written as SVG only", f"{advice}.", code="unknown_format")
    try:
        path.write_text(svg, "utf-8")
    except OSError as error:
        raise UserError(
            f"Cannot write the image {path}: {error.strerror}", "choose another place.", code="file_unwritable"
        ) from None
