"""Measure how evenly an account spreads its attention over others."""

from __future__ import annotations

from collections.abc import Iterable


def favouritism(weights: Iterable[float]) -> float | None:
    """Return kY(k): k times the sum of squared shares of the k accounts that an account addresses.

    1 if all are addressed equally often, k if only one of them; None for fewer than two. TwitterEcho's author used it; see
    E. Almaas et al., Nature 427 (2004) 839.
    """
    positive = [weight for weight in weights if weight > 0]
    total = sum(positive)
    return len(positive) * sum((weight / total) ** 2 for weight in positive) if len(positive) > 1 else None


def describe_favouritism(value: float, accounts: int) -> str:
    """Return the meaning of a value, for readers without statistics."""
    if value < 1.25:
        return f"it speaks to {accounts} accounts, to each about equally often"
    return f"it speaks to {accounts} accounts, as unevenly as if it spoke to only {accounts / value:.1f} of them"
