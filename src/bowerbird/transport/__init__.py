"""Carries requests and live connections over HTTP: bounded in size and time, and every failure is an answer that says why."""

from bowerbird.transport.bounds import Bounds
from bowerbird.transport.http import HttpTransport

__all__ = ["Bounds", "HttpTransport"]
