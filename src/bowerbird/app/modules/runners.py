"""The modules that a flow names, ready to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import structs

from bowerbird.errors import UserError
from bowerbird.flows.flow import Flow
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.modules import ModuleUse
from bowerbird.model.subjects.community import Community
from bowerbird.modules.judging.place_names import folded
from bowerbird.modules.running.context import Surroundings
from bowerbird.modules.running.found import KnownModules
from bowerbird.modules.running.runner import Runner
from bowerbird.ports import Judge, Part
from bowerbird.settings import load_settings


def module_runners(flow: Flow, around: Surroundings, progress: Callable[[], int]) -> Sequence[Part]:
    """Every module of a flow as a part of its process, but for those that tell somebody where nobody may be told. `progress`: how
    much the crawl has done so far."""
    known, found = KnownModules(), Counter[str]()
    around = structs.replace(around, found=lambda count: found.update(waiting=count))
    uses = [use for use in flow.modules if around.messenger is not None or not getattr(known[use.name], "tells", False)]
    return [Runner(known[use.name], use, around, lambda: progress() + found["waiting"]).part() for use in uses]


def runner_by_hand(name: str, flow: Flow, around: Surroundings) -> Runner:
    """One module as the flow names it, or with its usual options where the flow does not; raises `UserError` for an unknown
    name, and where it would ask what the crawl does not."""
    known = KnownModules()
    if name not in known:
        raise UserError(f"there is no module {name!r}{meant(name, known)}; there are: {listed(known)}")
    module = known[name]
    if module.needs and around.questions.facets.isdisjoint(module.needs):
        asked = " or ".join(f"`{facet}`" for facet in module.needs)
        raise UserError(f"the module {name!r} asks for {asked}, which the flow {flow.name!r} of this crawl does not have")
    use = next((use for use in flow.modules if use.name == name), ModuleUse(name=name))
    return Runner(module, use, around)


def judge_named(own: Callable[[], Sequence[Judge]], name: str) -> Judge | None:
    """The judge of a name: one of the crawl's own, or one that every crawl may ask."""
    from bowerbird.analysis.language.judge import language_judges

    return next((judge for judge in (*own(), *language_judges({name})) if judge.name == name), None)


def knows_place(community: Community | None, text: str) -> bool:
    """Whether a text is a name that the packaged tables of places know, or that the description of the community has."""
    own = (*community.own_places, *community.other_places) if community is not None else ()
    if folded(text) in map(folded, own):
        return True
    # The names of places take long to load, and few modules ask for them.
    from bowerbird.analysis.places.opened import resolver_in

    return bool(resolver_in(load_settings().cache_folder).resolve(text))
