"""Pictures and films of stored posts, fetched to disk once each, beside the loop of calls."""

from __future__ import annotations

from bowerbird.crawl.media.collector import Collector
from bowerbird.crawl.media.plan import MediaPlan

__all__ = ["Collector", "MediaPlan"]
