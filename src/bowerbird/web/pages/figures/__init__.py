"""Figures: prepared statistics, networks, the map, and references to words beside a series of the user's own.

Nothing is counted while somebody waits for a page: `studies/keeper.py` does that in the background.
"""

from __future__ import annotations

from starlette.routing import BaseRoute

from bowerbird.web.pages.figures import labelling, languages, networks, people, tops, volumes, word_studies
from bowerbird.web.pages.figures.shared import Figures
from bowerbird.web.site import Site


def routes(site: Site) -> list[BaseRoute]:
    figures = Figures(site)
    parts = (volumes, tops, people, languages, networks, word_studies, labelling)
    return [*figures.routes(), *(route for part in parts for route in part.routes(figures))]
