"""The methods of keywords, before anything is made."""

from __future__ import annotations

from bowerbird.flows.flow import Flow
from bowerbird.policies.keywords import method


def check_methods(flow: Flow) -> None:
    """Raises `UserError` where an option of a method has a value that it does not take."""
    if (use := flow.keywords) is not None:
        for name in use.methods:
            method(name, use.options.get(name))
