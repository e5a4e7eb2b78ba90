"""Rules of the architecture that are read from the source code and the documentation.

Which package may import which is checked by `lint-imports` (pyproject.toml, [tool.importlinter]).
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from bowerbird.cli import COMMANDS, load
from bowerbird.model import NETWORKS, TRAITS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "bowerbird"
DOCS = ROOT / "docs"
MODULES = sorted(PACKAGE.rglob("*.py"))

MAY_NAME_NETWORKS = {
    "model/networks.py": "the data of each network",
    "providers/": "the code of each network",
    "simulated/": "each simulated API is that of a network",
    "planning/": "prices, and the simulated APIs to rehearse with",
    "evaluate/": "each evaluation chooses its networks",
    "api/examples.py": "examples use a network",
    "cli/demo_stage/": "the demo uses networks",
    "cli/commands/trying/": "the simulated services of a command",
    "cli/commands/crawling/plan.py": "shows the prices of the network that has prices",
    "store/payloads/shapes.py": "the compression dictionary of stored payloads",
}
"""Where code may contain the name of a network, and why."""
FOREIGN_STATES = {
    "simulated/": "values of an API",
    "evaluate/": "output of an evaluation",
    "reports/database/activity.py": "values of PostgreSQL",
}
"""Where a `state` is not one of our own enums, and why."""


@cache
def parsed(source: str) -> ast.Module:
    """Return the syntax tree of `source`. Cached, because several rules read every file."""
    return ast.parse(source)


@pytest.fixture(scope="module", autouse=True)
def release_trees() -> Iterator[None]:
    """Free the syntax trees of the whole package after these tests."""
    gc.disable()  # collecting garbage among all these nodes nearly doubles the time of this file
    yield
    gc.enable()
    parsed.cache_clear()
    string_constants.cache_clear()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def short_name(path: Path) -> str:
    """Return the path inside the package: `crawl/process/worker.py`."""
    return path.relative_to(PACKAGE).as_posix()


def modules_in(package: str, without: str | None = None) -> list[Path]:
    """Return the modules of a top-level package, except those in a folder named `without`."""
    inside = [path for path in MODULES if area(path) == package and without not in path.parts]
    assert inside, f"no module in {package}"
    return inside


def area(path: Path) -> str:
    """Return the top-level package or module: `crawl` for crawl/worker.py, `clock` for clock.py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def violations(rule: Callable[[str], list[str]], paths: list[Path]) -> dict[str, list[str]]:
    """Return what `rule` finds in each file where it finds anything."""
    found = {short_name(path): rule(read(path)) for path in paths}
    return {name: findings for name, findings in found.items() if findings}


@cache
def string_constants(source: str) -> list[str]:
    """Return all string literals that are not docstrings."""
    tree = parsed(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [node for node in constants if isinstance(node.value, str)]
    return [str(node.value) for node in texts if id(node) not in docstrings]


# Time and environment


def time_reads(source: str) -> list[str]:
    """Return what reads the system's time or waits. `asyncio.sleep(0)` does not wait."""
    if not re.search(r"\b(time|now|utcnow|today|sleep)\b", source):
        return []  # most files; walking their trees would take most of the time of this test
    found = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import | ast.ImportFrom) and "time" in imported_roots(node):
            found.append("import time")
        elif isinstance(node, ast.Call) and is_time_call(node):
            found.append(ast.unparse(node))
    return found


def imported_roots(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.ImportFrom):
        return set() if node.level else {node.module or ""}
    return {alias.name for alias in node.names}


def is_time_call(node: ast.Call) -> bool:
    words = ast.unparse(node.func).split(".")
    owner, name = words[-2] if len(words) > 1 else "", words[-1]
    if name == "sleep" and owner in {"asyncio", ""}:
        return [ast.unparse(argument) for argument in node.args] != ["0"]
    if name == "time":
        return owner.endswith("loop")
    return owner in {"datetime", "date"} and name in {"now", "utcnow", "today"}


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from time import monotonic",
        "datetime.now(UTC)",
        "datetime.datetime.utcnow()",
        "asyncio.sleep(1)",
        "loop.time()",
    ],
)
def test_time_rule_system_time_is_found(source: str) -> None:
    assert time_reads(source)


@pytest.mark.parametrize(
    "source",
    [
        "asyncio.sleep(0)",
        "clock.now()",
        "clock.sleep_until(when)",
        "from bowerbird.providers import times",
    ],
)
def test_time_rule_clock_calls_are_allowed(source: str) -> None:
    assert time_reads(source) == []


def test_package_outside_clock_never_reads_system_time() -> None:
    paths = [path for path in MODULES if area(path) != "clock"]
    assert violations(time_reads, paths) == {}


def environment_reads(source: str) -> list[str]:
    """Return the lines that read environment variables."""
    if not re.search(r"environ|getenv", source):
        return []
    names = {"environ", "environb", "getenv", "getenvb"}
    found = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Attribute) and node.attr in names:
            found.append(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            found += [alias.name for alias in node.names if alias.name in names]
    return found


@pytest.mark.parametrize("source", ["os.environ['A']", "from os import getenv", "os.getenv('A')"])
def test_environment_rule_reads_are_found(source: str) -> None:
    assert environment_reads(source)


def test_package_outside_settings_never_reads_environment() -> None:
    paths = [path for path in MODULES if area(path) != "settings"]
    assert violations(environment_reads, paths) == {}


# SQL


def sql_statements(source: str) -> list[str]:
    """Return the string literals that are SQL statements on tables."""
    sql = re.compile(
        r"\b(select\b.+\bfrom|insert\s+into|update\b.+\bset|delete\s+from)\s",
        re.IGNORECASE | re.DOTALL,
    )
    return [text for text in string_constants(source) if sql.search(text)]


@pytest.mark.parametrize(
    "source",
    ["q = 'select a from posts where b'", "q = 'DELETE FROM posts '", "q = 'update t set a = 1'"],
)
def test_sql_rule_statements_are_found(source: str) -> None:
    assert sql_statements(source)


def test_web_pages_contain_no_sql() -> None:
    """`reports/` reads what pages show. Only the dashboard's own users are stored by `web/`."""
    assert violations(sql_statements, modules_in("web", without="security")) == {}


def test_commands_contain_no_sql() -> None:
    """`reports/` reads what commands show. The demo also compares its store with ground truth."""
    assert violations(sql_statements, modules_in("cli", without="demo_stage")) == {}


def test_app_contains_no_sql() -> None:
    assert violations(sql_statements, modules_in("app")) == {}


# The composition root


def app_decisions(source: str) -> list[str]:
    """Return what a composition root should not contain: methods, errors, loops."""
    found = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.ClassDef):
            if any(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body):
                found.append(f"class {node.name} has methods")
        elif isinstance(node, ast.Raise | ast.While | ast.Try | ast.Match):
            found.append(f"{type(node).__name__.lower()} in line {node.lineno}")
    return found


@pytest.mark.parametrize(
    "source",
    [
        "class Rule:\n    def holds(self): ...",
        "def f():\n    raise ValueError",
        "def f():\n    while True: ...",
    ],
)
def test_app_rule_decisions_are_found(source: str) -> None:
    assert app_decisions(source)


def test_app_rule_values_are_allowed() -> None:
    source = "class Crawl(Struct):\n    plan: Plan\ndef f():\n    return Crawl() if plan else None"
    assert app_decisions(source) == []


def test_app_only_connects_parts() -> None:
    """Its classes are values; it raises nothing and waits for nothing."""
    assert violations(app_decisions, modules_in("app")) == {}


# Networks and states

NAMES = {*NETWORKS, *TRAITS} - {"x"}  # `x` is searched in comparisons only: plots also have an x
NAME_IN_SQL = re.compile("'(?:bluesky|mastodon|weibo|x)\\b")
COMPARISON_WITH_X = re.compile(r"""(?:==|!=|\bin) \(?(?:"\w+", )*"x\"""")
ADDRESSES = re.compile(r"bsky\\?\.|weibo\\?\.c|twitter\\?\.com|\bx\\?\.com")
IDS = re.compile(r"did:|at://|mastodon:")


def network_names(source: str) -> list[str]:
    """Return string literals that are specific to one network. Sentences may contain examples."""
    found = []
    for text in string_constants(source):
        is_mark = " " not in text and (IDS.search(text) or ADDRESSES.search(text))
        if text in NAMES or NAME_IN_SQL.search(text) or is_mark:
            found.append(text)
    return found + COMPARISON_WITH_X.findall(source)


@pytest.mark.parametrize(
    "source",
    [
        'if provider == "x":\n    pass',
        'if name in ("twitter_v1", "x"):\n    pass',
        'default = "mastodon"',
        """sql = "select 1 from posts where network = 'x'\"""",
        """sql = "where substr(a, 1, 9) = 'mastodon:' and b\"""",
        'form = r"https?://(?:www\\.)?weibo\\.com/"',
    ],
)
def test_network_rule_names_are_found(source: str) -> None:
    assert network_names(source)


@pytest.mark.parametrize(
    "source",
    [
        'message = "write a handle, such as @alice.bsky.social"',
        'plot = {"x": "time"}',
    ],
)
def test_network_rule_sentences_and_plots_are_allowed(source: str) -> None:
    assert not network_names(source)


def test_network_specifics_outside_listed_places_do_not_exist() -> None:
    paths = [path for path in MODULES if not short_name(path).startswith(tuple(MAY_NAME_NETWORKS))]
    assert violations(network_names, paths) == {}


def test_network_exceptions_are_all_needed() -> None:
    assert unneeded(MAY_NAME_NETWORKS, network_names) == []


def plain_states(source: str) -> list[str]:
    """Return the places where a state is a plain string instead of a member of an enum."""
    annotation = r"^ +state: str\b"
    method = r"def (?:\w+_)?state\(self[^)]*\) -> str:"
    comparison = r"\bstate (?:==|!=|in|not in) \(?[\"'][a-z]"
    return re.findall(f"{annotation}|{method}|{comparison}", source, re.MULTILINE)


def test_states_are_members_of_enums() -> None:
    """So that no screen compares with a word that is never stored."""
    paths = [path for path in MODULES if not short_name(path).startswith(tuple(FOREIGN_STATES))]
    assert violations(plain_states, paths) == {}


def test_state_exceptions_are_all_needed() -> None:
    assert unneeded(FOREIGN_STATES, plain_states) == []


def unneeded(places: dict[str, str], rule: Callable[[str], list[str]]) -> list[str]:
    """Return the excepted places in which `rule` would find nothing."""
    found = violations(rule, MODULES)
    return [place for place in places if not any(name.startswith(place) for name in found)]


def test_source_contains_no_todo() -> None:
    marks = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
    assert violations(marks.findall, MODULES) == {}


# Documentation


@pytest.mark.parametrize("pages", ["architecture.md", "providers.md", "store.md", "decisions/*.md"])
def test_documentation_names_only_existing_files(pages: str) -> None:
    text = "\n".join(read(page) for page in DOCS.glob(pages))
    linked = re.findall(r"\]\(\.\./([\w/.]+\.(?:py|toml))\)", text)
    named = re.findall(r"`([a-z_]+/[\w/]+\.py)`", text)
    assert linked or named
    paths = [(ROOT / name, PACKAGE / name) for name in {*linked, *named}]
    assert [pair for pair in paths if not any(path.is_file() for path in pair)] == []


def headings(page: str) -> list[str]:
    return [line.lstrip("# ") for line in read(DOCS / page).splitlines() if line.startswith("#")]


def all_commands() -> list[str]:
    """Return all commands and subcommands: `crawl`, `keys`, `keys add` …"""
    names = []
    for name in COMMANDS:
        names.append(name)
        names += [f"{name} {subcommand}" for subcommand in getattr(load(name), "commands", {})]
    return names


def test_commands_all_have_a_heading_in_the_documentation() -> None:
    lines = headings("commands.md")
    titles = [f"`bowerbird {name}" for name in all_commands()]
    missing = [title for title in titles if not any(line.startswith(title) for line in lines)]
    assert missing == [], "each needs a heading in docs/commands.md"


def test_settings_are_all_documented() -> None:
    source = read(PACKAGE / "settings.py")
    variables = re.findall(r'_variable\(env, "([A-Z_]+)"\)', source)
    folders = re.findall(r'_folder\(env, "([A-Z]+)"', source)
    names = {f"BOWERBIRD_{name}" for name in variables}
    names |= {f"BOWERBIRD_{name}_FOLDER" for name in folders}
    assert len(names) > 5
    page = read(DOCS / "commands.md")
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_built_in_flows_all_have_a_heading_in_the_documentation() -> None:
    flows = sorted(path.stem for path in (PACKAGE / "flows" / "built_in").glob("*.toml"))
    assert flows
    lines = headings("flows.md")
    assert [flow for flow in flows if not any(f"`{flow}`" in line for line in lines)] == []
