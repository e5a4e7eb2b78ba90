"""Pictures and films of stored posts, fetched to disk once each, beside the loop of calls."""

from __future__ import annotations

from bowerbird.flows.files.sections.media_plan import MediaPlan
from bowerbird.modules.media.collector import Collector

__all__ = ["Collector", "MediaPlan"]
