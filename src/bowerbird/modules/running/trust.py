"""What a store alone may have a module do: it may be somebody else's."""

from __future__ import annotations

from bowerbird.errors import UserError
from bowerbird.flows.flow import Flow
from bowerbird.modules.running.found import KnownModules
from bowerbird.modules.tending.retention import Retention


def check_trust(name: str, flow: Flow, *, has_file: bool) -> None:
    """Raises `UserError` where a store alone says which program to run, or whom to tell: it may be somebody else's."""
    says_whom = any(use.name == name and use.options for use in flow.modules)
    if not has_file and says_whom and getattr(KnownModules()[name], "tells", False):
        raise UserError(
            "a store does not say what is run on this machine, and whom it tells",
            f"name the crawl file, `bowerbird modules FILE run {name}`",
            code="unsupported",
        )


def check_erasing(name: str, crawl: str, flow: Flow) -> None:
    """Raises `UserError` where a module would erase things, and the crawl file does not say which."""
    if name == Retention.name and not any(use.name == name for use in flow.modules):
        raise UserError(
            f"the crawl file of {crawl} does not say what {name} may erase: it is run from a command line alone", code="refused"
        )
