"""Packages that only some exports need, loaded when they are; one sentence says what to install where one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bowerbird.errors import UserError


def needed(package: str, what: str) -> Any:
    """The package; raises `UserError` where it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        raise UserError(
            f"{what} needs the package {name}", "install it with `pip install 'bowerbird[export]'`", code="package_missing"
        ) from None


def is_there(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True
