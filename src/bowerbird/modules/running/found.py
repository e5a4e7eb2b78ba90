"""Which modules there are: our own, and those that installed packages add (entry points of the group `bowerbird.modules`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from bowerbird.errors import UserError
from bowerbird.model.modules import ModuleOption, ModuleWords
from bowerbird.ports import Module

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "bowerbird.modules"
BUILT_IN: Mapping[str, str] = {
    "mentions": "bowerbird.modules.finding.mentions:Mentions",
    "validity": "bowerbird.modules.finding.validity:Validity",
    "neighbours": "bowerbird.modules.finding.neighbours:Neighbours",
    "profiles": "bowerbird.modules.judging.profiles:Profiles",
    "collection": "bowerbird.modules.finding.collection:Collection",
    "languages": "bowerbird.modules.judging.languages:Languages",
    "vote": "bowerbird.modules.judging.vote:Vote",
    "accounts": "bowerbird.modules.tending.accounts:Accounts",
    "freezing": "bowerbird.modules.tending.freezing:Freezing",
    "place_names": "bowerbird.modules.judging.place_names:PlaceNames",
    "growth": "bowerbird.modules.tending.growth:Growth",
    "statistics": "bowerbird.modules.statistics.module:Statistics",
    "retention": "bowerbird.modules.tending.retention:Retention",
    "deletions": "bowerbird.modules.tending.deletions:Deletions",
    "notification": "bowerbird.modules.tending.notification:Notification",
}
"""Names and where each is; a file is loaded when its module is named."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class KnownModules(Mapping[str, Module]):
    """All modules by name. Those of installed packages are looked for when a name is none of our own, or all are wanted."""

    def __getitem__(self, name: str) -> Module:
        if name in BUILT_IN:
            return _built_in(name)
        return _added()[name]

    def __contains__(self, name: object) -> bool:
        return name in BUILT_IN or name in _added()

    def __iter__(self) -> Iterator[str]:
        yield from BUILT_IN
        yield from sorted(_added())

    def __len__(self) -> int:
        return len(BUILT_IN) + len(_added())


class KnownWords(Mapping[str, ModuleWords]):
    """The same as crawl files know them."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> ModuleWords:
        module = self._modules[name]
        return ModuleWords(about=module.about, every=module.every, options=module.options, needs=module.needs)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


@cache
def _built_in(name: str) -> Module:
    file, _, kind = BUILT_IN[name].partition(":")
    module: Module = getattr(import_module(file), kind)()
    return module


def _added() -> Mapping[str, Module]:
    """Those of installed packages; raises `UserError` that names the package where one cannot be used."""
    # Loaded when it is needed: most crawl files name no module of others.
    from importlib.metadata import entry_points

    return {point.name: _loaded(point) for point in entry_points(group=GROUP) if point.name not in BUILT_IN}


def _loaded(point: EntryPoint) -> Module:
    package = f" of {point.dist.name}" if point.dist is not None else ""
    try:
        made: Module | Callable[[], Module] = point.load()
        module: Module = made() if isinstance(made, type) else made  # type: ignore[assignment]
    except Exception as error:
        raise UserError(f"the module {point.name!r}{package} cannot be loaded: {type(error).__name__}: {error}") from error
    if problem := _problem(module, point.name):
        raise UserError(f"the module {point.name!r}{package} cannot be used: {problem}")
    return module


def _problem(module: Module, name: str) -> str:
    """Why something is no module, if it is none."""
    if not _NAME.fullmatch(name):
        return "its name must be lower-case letters, digits and underscores"
    lacking = [each for each in ("name", "about", "every", "options", "needs", "run") if not hasattr(module, each)]
    if lacking:
        return f"it has no {', '.join(lacking)}; see `Module` in bowerbird.ports"
    if module.name != name:
        return f"it calls itself {module.name!r}"
    if not all(isinstance(option, ModuleOption) for option in module.options.values()):
        return "its options must be ModuleOption"
    return ""
