"""What a crawl of a community adds. Loaded for such crawls alone: names of places take a while."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.analysis.community.judge import Examiner, community_judge
from bowerbird.community.around import StoredNeighbourhood
from bowerbird.community.looking import Looker
from bowerbird.community.part import Attendant, Keeping
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.model.subjects.community import Community
from bowerbird.ports import Database, Judge, Part
from bowerbird.settings import load_settings

__all__ = ["Keeping", "attendant", "judge", "neighbourhood"]


def judge(community: Community) -> Judge:
    return community_judge(community, load_settings().cache_folder)


def attendant(crawl: int, community: Community, lanes: Mapping[int, Lane], targets: Targets, keeping: Keeping) -> Part:
    """Who looks around among judged accounts."""
    networks = {number: f"{lane.provider.network}:" for number, lane in lanes.items() if lane.neighbourhood is not None}
    looker = Looker(keeping.database, Examiner(community, load_settings().cache_folder))
    return Attendant(crawl, looker, targets, networks, keeping).part()


def neighbourhood(database: Database, lane: int, network: str) -> StoredNeighbourhood:
    """Whom candidates of a lane stand next to."""
    return StoredNeighbourhood(database, lane, network)
