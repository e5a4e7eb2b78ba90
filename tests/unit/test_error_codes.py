"""Every error code that the package uses is in the documentation, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import bowerbird
from bowerbird.errors import BowerbirdError
from bowerbird.model import Outcome

SOURCE = Path(bowerbird.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
CODE = re.compile(r"[a-z][a-z0-9_]*")


def documented(heading: str) -> list[str]:
    """The codes of the table under a heading."""
    section = PAGE.read_text("utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return ROW.findall(section)


class Constants:
    """Module-level strings of the package, by module and name."""

    def __init__(self) -> None:
        self._trees: dict[str, ast.Module] = {}
        for path in SOURCE.rglob("*.py"):
            parts = path.relative_to(SOURCE.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self._trees[name] = ast.parse(path.read_text("utf-8"))

    def modules(self) -> Iterator[tuple[str, ast.Module]]:
        yield from self._trees.items()

    def value(self, module: str, name: str) -> str | None:
        for node in self._trees.get(module, ast.Module([], [])).body:
            if isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == name for each in node.targets):
                return node.value.value if isinstance(node.value, ast.Constant) else None
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                for target, value in zip(node.targets[0].elts, node.value.elts, strict=False):
                    if isinstance(target, ast.Name) and target.id == name and isinstance(value, ast.Constant):
                        return str(value.value)
            if isinstance(node, ast.ImportFrom) and node.module and any(each.name == name for each in node.names):
                return self.value(node.module, name)
        return None


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _given(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that are a code: `code="…"`, `Failure("…", …)`, `default_code = "…"`, what a property `code` returns."""
    if isinstance(node, ast.Call):
        yield from (each.value for each in node.keywords if each.arg in ("code", "default_code"))
        if _called(node) in ("Failure", "finished") and node.args:
            yield node.args[0]
        if _called(node) == "end" and len(node.args) == 2:
            yield node.args[1]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        is_code = any(isinstance(each, ast.Name) and each.id in ("code", "default_code") for each in targets)
        if is_code and node.value is not None:
            yield node.value
        if isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(targets[0].elts, node.value.elts, strict=False)
            yield from (value for target, value in pairs if isinstance(target, ast.Name) and target.id == "code")
    elif isinstance(node, ast.FunctionDef) and node.name == "code":
        yield from (each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value is not None)


def _choices(given: ast.expr) -> Iterator[ast.expr]:
    """Both sides of `a if … else b`."""
    if isinstance(given, ast.IfExp):
        yield from (*_choices(given.body), *_choices(given.orelse))
    else:
        yield given


def used() -> set[str]:
    constants, found = Constants(), set[str]()
    for module, tree in constants.modules():
        if not re.match(r"bowerbird\.(simulated|providers|evaluate\.recordings)\b", module):
            for node in ast.walk(tree):
                for given in _given(node):
                    for part in _choices(given):
                        value = part.value if isinstance(part, ast.Constant) else None
                        if isinstance(part, ast.Name) and part.id.isupper():
                            value = constants.value(module, part.id)
                        if isinstance(value, str) and value:
                            found.add(value)
    return found


def test_every_error_code_is_documented() -> None:
    assert sorted(used()) == documented("Codes")


def test_every_outcome_of_a_request_is_documented() -> None:
    assert sorted(documented("Outcomes of requests")) == sorted(each.value for each in Outcome if each is not Outcome.OK)


def test_codes_are_words_in_snake_case() -> None:
    assert all(CODE.fullmatch(each) for each in documented("Codes"))


def test_errors_have_a_default_code() -> None:
    kinds, seen = [BowerbirdError], set[str]()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind.__module__ == "bowerbird.errors":
            seen.add(kind("problem").code)
    assert seen <= set(documented("Codes"))
    assert BowerbirdError("problem", "advice", code="special").code == "special"
