"""Live connections: one streamer holds one subscription, with its cursor, its gaps and its place in the query log."""

from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.streaming.streamer import Streamer

__all__ = ["Stream", "Streamer"]
