"""The durable priority queue with leases: who waits, who is out, who sleeps until when."""

from bowerbird.frontier.tasks import TaskFrontier

__all__ = ["TaskFrontier"]
