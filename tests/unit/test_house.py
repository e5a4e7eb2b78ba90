"""Rules of the architecture: which part imports which, who reads time and environment, what must be documented."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from bowerbird.cli import COMMANDS, load
from bowerbird.model import NETWORKS, TRAITS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "bowerbird"
MODULES = sorted(PACKAGE.rglob("*.py"))

ROWS: tuple[tuple[str, ...], ...] = (
    ("api",),
    ("cli",),
    ("evaluate",),
    ("web",),
    ("planning",),
    ("app",),
    ("studies", "steering"),
    ("starting",),
    ("vocabulary",),
    ("remote", "export"),
    ("reports",),
    ("keywords", "community"),
    ("crawl", "providers", "limits", "frontier", "store", "policies", "analysis", "modules", "transport", "simulated"),
    ("flows",),
    ("clock", "db", "settings"),
    ("ports",),
    ("model", "errors"),
)
"""Layers, highest first. A part imports only from lower layers, never from its own."""
LEVEL = {part: level for level, row in enumerate(ROWS) for part in row}
STATES_OF_OTHERS = {
    "providers/": "words of a service",
    "simulated/": "the same",
    "evaluate/": "what an evaluation prints",
    "analysis/places/": "a part of a country",
    "reports/database/activity.py": "words of PostgreSQL",
}
"""Whose states are not ours to list."""
MAY_NAME_NETWORKS = {
    "model/networks/": "this is the place",
    "providers/": "and this",
    "simulated/": "a dialect of the simulated service is that of a network",
    "planning/": "what a plan knows of networks is prices, and dialects to rehearse in",
    "evaluate/": "an evaluation says which networks it is made with",
    "api/examples.py": "examples are of some network",
    "cli/demo_stage/": "the demo is of some networks",
    "cli/commands/trying/": "the same, and what to try of a simulated service",
    "cli/commands/crawling/plan.py": "prices are told of the network that has any",
    "store/payloads/shapes.py": "a dictionary that stored payloads were compressed with: what it holds never changes",
}
"""Who may name a network outside of what is particular to it, and why."""


@cache
def tree_of(source: str) -> ast.Module:
    """Each file is read by several rules, and parsing takes longest."""
    return ast.parse(source)


@pytest.fixture(scope="module", autouse=True)
def kept_trees() -> Iterator[None]:
    """Nobody looks for garbage in the trees of a thousand files: that took three times as long as to parse them."""
    gc.disable()
    yield
    tree_of.cache_clear()
    gc.enable()


def part_of(path: Path) -> str:
    """The top-level part a file belongs to: `crawl` for crawl/process/worker.py, `clock` for clock.py."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def package_of(path: Path) -> str:
    return ".".join(("bowerbird", *path.relative_to(PACKAGE).parent.parts))


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement, nested ones included, without walking through expressions."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(tree, name, None)
        for node in inner if isinstance(inner, list) else ():
            yield node
            yield from statements(node)


def imported_modules(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module an import statement names, also inside functions and under TYPE_CHECKING."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def parts_imported(source: str, package: str = "bowerbird") -> set[str]:
    names = (name.split(".") for name in imported_modules(tree_of(source), package))
    return {name[1] for name in names if name[0] == "bowerbird" and len(name) > 1} - {"__version__"}


def forbidden(own: str, others: set[str]) -> set[str]:
    """Those of `others` that `own` may not import: unknown ones, ones above it, and its neighbours on the same row."""
    others = others - {own}
    return {other for other in others if LEVEL.get(other, -1) <= LEVEL.get(own, len(ROWS))}


def calls_of_time(source: str) -> list[str]:
    """What reads the clock or waits: the `time` module, `now` and its like, loop time, `asyncio.sleep` of more than nothing."""
    if not re.search(r"\b(time|now|utcnow|today|sleep)\b", source):
        # To read it all takes a thousand times as long, and most files have nothing of the kind.
        return []
    found = []
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Import | ast.ImportFrom) and "time" in _import_roots(node):
            found.append("import time")
        elif isinstance(node, ast.Call):
            found += _clock_call(node)
    return found


def _import_roots(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.ImportFrom):
        return {node.module or ""} if not node.level else set()
    return {alias.name for alias in node.names}


def _clock_call(node: ast.Call) -> list[str]:
    words = ast.unparse(node.func).split(".")
    owner, name = words[-2] if len(words) > 1 else "", words[-1]
    if (owner in {"datetime", "date"} and name in {"now", "utcnow", "today"}) or (owner.endswith("loop") and name == "time"):
        return [ast.unparse(node)]
    is_wait = name == "sleep" and owner in {"asyncio", ""}
    # `asyncio.sleep(0)` waits for nothing: it lets others run.
    return [ast.unparse(node)] if is_wait and [ast.unparse(one) for one in node.args] != ["0"] else []


def reads_environment(source: str) -> bool:
    return bool(re.search(r"environ|getenv", source)) and any(
        (isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv", "getenvb"})
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and {"environ", "getenv"} & {one.name for one in node.names})
        for node in ast.walk(tree_of(source))
    )


def texts_in(source: str) -> list[str]:
    """Every text of a file that is no docstring."""
    tree = tree_of(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    told = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and _is_text(node.body[:1])}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]


def _is_text(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def commands_and_subcommands() -> list[str]:
    found = []
    for name in COMMANDS:
        found.append(name)
        found += [f"{name} {below}" for below in getattr(load(name), "commands", {})]
    return found


def heading_texts(page: Path) -> list[str]:
    return [line.lstrip("# ") for line in text_of(page).splitlines() if line.startswith("#")]


def test_every_part_of_the_package_has_its_place_in_the_rows() -> None:
    parts = {part_of(path) for path in MODULES} - {"__init__", "__main__"}
    assert parts <= LEVEL.keys(), f"give these a row in ROWS and in docs/architecture.md: {sorted(parts - LEVEL.keys())}"


def test_imports_go_downwards_only() -> None:
    files = [path for path in MODULES if named(path) not in ("__main__.py", "__init__.py")]
    wrong = {named(path): forbidden(part_of(path), parts_imported(text_of(path), package_of(path))) for path in files}
    assert {name: sorted(parts) for name, parts in wrong.items() if parts} == {}


def test_nobody_but_the_clock_reads_time_or_sleeps() -> None:
    calls = {named(path): calls_of_time(text_of(path)) for path in MODULES if part_of(path) != "clock"}
    assert {name: found for name, found in calls.items() if found} == {}


def test_nobody_but_the_settings_reads_the_environment() -> None:
    assert [named(path) for path in MODULES if part_of(path) != "settings" and reads_environment(text_of(path))] == []


def sql_in(paths: Iterable[Path]) -> dict[str, list[str]]:
    sql = re.compile(r"\b(select\b.+\bfrom|insert\s+into|update\b.+\bset|delete\s+from)\s", re.IGNORECASE | re.DOTALL)
    found = {named(path): [text for text in texts_in(text_of(path)) if sql.search(text)] for path in paths}
    return {name: texts for name, texts in found.items() if texts}


def test_pages_hold_no_sql() -> None:
    """What they show is read by `reports/`; the people of the dashboard alone are its own."""
    assert sql_in(path for path in MODULES if part_of(path) == "web" and "security" not in path.parts) == {}


def test_commands_hold_no_sql() -> None:
    """What they show is read by `reports/`, what they write is written by its owner. The demo holds its store against the world
    that it was made of, which is nobody else's business, and prints a question for its reader to try."""
    assert sql_in(path for path in MODULES if part_of(path) == "cli" and "demo_stage" not in path.parts) == {}


def decided_in(source: str) -> list[str]:
    """What a composition root has no business with: methods, refusals, and loops that wait or try again."""
    found = [
        f"class {node.name} has methods"
        for node in ast.walk(tree_of(source))
        if isinstance(node, ast.ClassDef) and _has_methods(node)
    ]
    return found + [
        f"{type(node).__name__.lower()} in line {node.lineno}"
        for node in ast.walk(tree_of(source))
        if isinstance(node, ast.Raise | ast.While | ast.Try | ast.Match)
    ]


def _has_methods(node: ast.ClassDef) -> bool:
    return any(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body)


@pytest.mark.parametrize(
    "source", ["class Rule:\n    def holds(self): ...", "def f():\n    raise ValueError", "def f():\n    while True: ..."]
)
def test_the_rule_of_the_composition_root_sees(source: str) -> None:
    assert decided_in(source)


def test_the_composition_root_lets_values_pass() -> None:
    assert decided_in("class Crawl(Struct):\n    plan: Plan\ndef f():\n    return Crawl(plan) if plan else None") == []


def test_the_composition_root_decides_nothing() -> None:
    """Its classes are values, it refuses nothing and waits for nothing: rules stand in the parts that it puts together."""
    found = {named(path): decided_in(text_of(path)) for path in MODULES if part_of(path) == "app"}
    assert {name: decided for name, decided in found.items() if decided} == {}


def test_the_composition_root_holds_no_sql() -> None:
    assert sql_in(path for path in MODULES if part_of(path) == "app") == {}


def names_a_network(source: str) -> list[str]:
    """Texts that are the name of a network, that name one in SQL or patterns, or that hold what only its ids and addresses have;
    a sentence may give examples. The name `x` is looked for in comparisons alone, because plots have an x as well."""
    found = [text for text in texts_in(source) if text in _NETWORKS or _IN_SQL.search(text)]
    found += [text for text in texts_in(source) if " " not in text and _MARKS.search(text) and text not in found]
    return found + re.findall(r"""(?:==|!=|\bin) \(?(?:"\w+", )*"x\"""", source)


_NETWORKS = {*NETWORKS, *TRAITS} - {"x"}
_IN_SQL = re.compile("'(?:bluesky|mastodon|weibo|x)\\b")
_MARKS = re.compile(r"bsky\\?\.|did:|at://|weibo\\?\.c|twitter\\?\.com|\bx\\?\.com|mastodon:")


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
def test_the_rule_of_networks_sees(source: str) -> None:
    assert names_a_network(source)


@pytest.mark.parametrize("source", ['told = "write a handle, such as @alice.bsky.social"', 'plot = {"x": "time"}'])
def test_the_rule_of_networks_lets_pass(source: str) -> None:
    assert not names_a_network(source)


def test_what_is_particular_to_a_network_stands_in_one_place() -> None:
    paths = [path for path in MODULES if not named(path).startswith(tuple(MAY_NAME_NETWORKS))]
    found = {named(path): names_a_network(text_of(path)) for path in paths}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_whoever_may_name_networks_does() -> None:
    naming = [named(path) for path in MODULES if names_a_network(text_of(path))]
    assert [place for place in MAY_NAME_NETWORKS if not any(name.startswith(place) for name in naming)] == []


def test_states_are_words_of_a_list() -> None:
    """What a thing is stands in an enum, so that no screen waits for a word that nothing says."""
    bare = re.compile(
        r"^ +state: str\b|def (?:\w+_)?state\(self[^)]*\) -> str:|\bstate (?:==|!=|in|not in) \(?[\"'][a-z]", re.MULTILINE
    )
    paths = [path for path in MODULES if not named(path).startswith(tuple(STATES_OF_OTHERS))]
    assert [named(path) for path in paths if bare.search(text_of(path))] == []


@pytest.mark.parametrize("page", ["architecture.md", "providers.md", "store.md"])
def test_files_that_the_documentation_names_exist(page: str) -> None:
    told = text_of(ROOT / "docs" / page)
    linked = re.findall(r"\]\(\.\./([\w/.]+\.py)\)", told)
    spoken = re.findall(r"`([a-z_]+/[\w/]+\.py)`", told)
    assert [name for name in {*linked, *spoken} if not ((ROOT / name).is_file() or (PACKAGE / name).is_file())] == []


def test_nothing_is_left_for_later() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX)\b")
    assert [named(path) for path in MODULES if marks.search(text_of(path))] == []


def test_every_command_is_documented() -> None:
    headings = heading_texts(ROOT / "docs" / "commands.md")
    missing = [name for name in commands_and_subcommands() if not any(line.startswith(f"`bowerbird {name}") for line in headings)]
    assert not missing, f"docs/commands.md needs a heading `bowerbird …` for {missing}"


def test_every_setting_is_documented() -> None:
    page = text_of(ROOT / "docs" / "commands.md")
    source = text_of(PACKAGE / "settings.py")
    names = {"BOWERBIRD_" + name for name in re.findall(r'_variable\(env, "([A-Z_]+)"\)', source)}
    names |= {f"BOWERBIRD_{name}_FOLDER" for name in re.findall(r'_folder\(env, "([A-Z]+)"', source)}
    assert len(names) > 5
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_every_built_in_flow_is_documented() -> None:
    flows = sorted(path.stem for path in (PACKAGE / "flows" / "built_in").glob("*.toml"))
    headings = heading_texts(ROOT / "docs" / "flows.md")
    assert flows
    assert [flow for flow in flows if not any(f"`{flow}`" in line for line in headings)] == []


def test_the_import_rule_sees_neighbours_higher_rows_and_strangers() -> None:
    source = "if TYPE_CHECKING:\n    from bowerbird.store.reader import Reader\nfrom bowerbird import app"
    assert forbidden("crawl", parts_imported(source)) == {"store", "app"}
    assert forbidden("crawl", parts_imported("import bowerbird.stranger")) == {"stranger"}
    assert forbidden("crawl", parts_imported("from ..limits import vault", "bowerbird.crawl")) == {"limits"}
    assert forbidden("crawl", parts_imported("from bowerbird.crawl.flow import Flow\nfrom bowerbird.ports import Clock")) == set()


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
def test_the_clock_rule_sees(source: str) -> None:
    assert calls_of_time(source)


@pytest.mark.parametrize(
    "source", ["asyncio.sleep(0)", "clock.now()", "clock.sleep_until(when)", "from bowerbird.providers import times"]
)
def test_the_clock_rule_lets_pass(source: str) -> None:
    assert calls_of_time(source) == []
