"""What X charges, for plans: its list of pay-per-use prices in dollars, as of a date; prices change without notice."""

from __future__ import annotations

from datetime import date

from bowerbird.simulated.x_v2.meter import PRICES

AS_OF = date(2026, 11, 15)
X_PRICES = {kind: thousandths / 1000 for kind, thousandths in PRICES.items()}
"""For each object returned, each once per UTC day; trends and counts by the request. Failed calls are free."""
