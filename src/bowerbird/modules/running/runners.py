"""The modules that a flow names, ready to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import structs

from bowerbird.errors import UserError
from bowerbird.flows.flow import Flow
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.modules import ModuleUse
from bowerbird.modules.running.context import Surroundings
from bowerbird.modules.running.found import KnownModules
from bowerbird.modules.running.runner import Runner
from bowerbird.ports import Module, Part


def module_runners(flow: Flow, around: Surroundings, progress: Callable[[], int]) -> Sequence[Part]:
    """Every module of a flow as a part of its process, but for those that tell somebody where nobody may be told. `progress`: how
    much the crawl has done so far."""
    known, found = KnownModules(), Counter[str]()
    around = structs.replace(around, found=lambda count: found.update(waiting=count))
    uses = [use for use in flow.modules if around.messenger is not None or not getattr(known[use.name], "tells", False)]
    return [Runner(known[use.name], use, around, lambda: progress() + found["waiting"]).part() for use in uses]


def check_known(name: str) -> Module:
    """The module of this name; raises `UserError` where there is none."""
    known = KnownModules()
    if name not in known:
        raise UserError(f"there is no module {name!r}{meant(name, known)}", f"there are: {listed(known)}", code="unknown_module")
    return known[name]


def runner_by_hand(name: str, flow: Flow, around: Surroundings) -> Runner:
    """One module as the flow names it, or with its usual options where the flow does not; raises `UserError` for an unknown
    name, and where it would ask what the crawl does not."""
    module = check_known(name)
    if module.needs and around.questions.facets.isdisjoint(module.needs):
        asked = " or ".join(f"`{facet}`" for facet in module.needs)
        raise UserError(
            f"the module {name!r} asks for {asked}, which the flow {flow.name!r} of this crawl does not have", code="unsupported"
        )
    use = next((use for use in flow.modules if use.name == name), ModuleUse(name=name))
    return Runner(module, use, around)
