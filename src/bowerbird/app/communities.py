"""What a crawl of a community adds. Loaded for such crawls alone: names of places take a while."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.community.classifier import CommunityClassifier
from bowerbird.community.review import FOLLOWING, TIMELINE, Queue, Reviewer, ReviewPart
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.ports import Part


def review_part(
    crawl: int, classifier: CommunityClassifier, lanes: Mapping[int, Lane], targets: Targets, keeping: Keeping
) -> Part:
    """The review of undecided accounts, with the queues that it adds accounts to."""
    queues = [
        Queue(number, lane.facet.name, f"{lane.provider.network}:")
        for number, lane in lanes.items()
        if lane.neighbourhood is not None or lane.facet.name in (TIMELINE, FOLLOWING)
    ]
    return ReviewPart(crawl, Reviewer(keeping.database, classifier), targets, queues, keeping).part()
