"""What a crawl of a community adds. Loaded for such crawls alone: names of places take a while."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.analysis.community.judge import Examiner
from bowerbird.community.looking import Looker
from bowerbird.community.part import Attendant
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.model.subjects.community import Community
from bowerbird.ports import Part
from bowerbird.settings import load_settings


def attendant(crawl: int, community: Community, lanes: Mapping[int, Lane], targets: Targets, keeping: Keeping) -> Part:
    """Who looks around among judged accounts."""
    networks = {number: f"{lane.provider.network}:" for number, lane in lanes.items() if lane.neighbourhood is not None}
    looker = Looker(keeping.database, Examiner(community, load_settings().cache_folder))
    return Attendant(crawl, looker, targets, networks, keeping).part()
