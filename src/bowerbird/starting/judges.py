"""Who says in a crawl what accounts and posts are: where, in which language, whether they belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model.subjects.community import Community
from bowerbird.model.subjects.places import Area
from bowerbird.modules.judging.place_names import folded
from bowerbird.ports import Judge
from bowerbird.settings import load_settings


def judges_of(plan: CrawlPlan, added: Sequence[Judge]) -> Sequence[Judge]:
    """Where, in a crawl that is about places; in which language, in one whose conditions ask; who belongs, in one of a community;
    and those that the program which runs it has `added`."""
    areas = [place.area for place in plan.places]
    asked = plan.flow.judges - {judge.name for judge in added}
    return (*place_judges(areas), *community_judges(plan.community), *language_judges(asked), *added)


def place_judges(areas: Sequence[Area]) -> Sequence[Judge]:
    if not areas:
        return ()
    # Loaded for crawls that are about places: it takes a while.
    from bowerbird.analysis.places.classifier import PlaceClassifier
    from bowerbird.analysis.places.resolver import open_resolver

    return (PlaceClassifier(areas, open_resolver(load_settings().cache_folder)),)


def community_judges(community: Community | None) -> Sequence[Judge]:
    if community is None:
        return ()
    # Loaded for crawls of a community: names of places take a while.
    from bowerbird.community.classifier import CommunityClassifier

    return (CommunityClassifier(community, load_settings().cache_folder),)


def language_judges(names: Set[str]) -> Sequence[Judge]:
    if not names & {"language", "variety"}:
        return ()
    # Loaded for crawls that label languages: it needs numpy.
    from bowerbird.analysis.language_labels import create_classifiers

    return create_classifiers(names)


def judge_named(own: Callable[[], Sequence[Judge]], name: str) -> Judge | None:
    """The judge of a name: one of the crawl's own, or one that every crawl may ask."""
    return next((judge for judge in (*own(), *language_judges({name})) if judge.name == name), None)


def knows_place(community: Community | None, text: str) -> bool:
    """Whether a text is a name that the packaged tables of places know, or that the description of the community has."""
    own = (*community.own_places, *community.other_places) if community is not None else ()
    if folded(text) in map(folded, own):
        return True
    # The names of places take long to load, and few modules ask for them.
    from bowerbird.analysis.places.resolver import open_resolver

    return bool(open_resolver(load_settings().cache_folder).resolve(text))
