"""Carries requests and live connections over HTTP: bounded in size and time, and every failure is an answer that says why."""

from bowerbird.crawl.http.bounds import Bounds
from bowerbird.crawl.http.transport import HttpTransport

__all__ = ["Bounds", "HttpTransport"]
