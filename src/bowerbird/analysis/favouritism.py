"""How evenly somebody's attention is spread. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def favouritism(weights: Iterable[float]) -> float | None:
    """Almaas' kY(k), which TwitterEcho's author used: k times the sum of squared shares of those k whom somebody speaks to. 1:
    everybody alike; k: one of them alone. None where there are fewer than two.

    E. Almaas et al., Nature 427 (2004) 839.
    """
    known = [weight for weight in weights if weight > 0]
    whole = sum(known)
    return len(known) * sum((weight / whole) ** 2 for weight in known) if len(known) > 1 else None


_EVEN = 1.25


def in_words(found: float, accounts: int) -> str:
    """What it means, for somebody who knows no statistics."""
    if found < _EVEN:
        return f"it speaks to {accounts} accounts, to each about equally often"
    return f"it speaks to {accounts} accounts, so unevenly as if to {accounts / found:.1f} of them alone"
