"""What X charges, for plans: its list of pay-per-use prices in dollars, as of a date; prices change without notice."""

from __future__ import annotations

from datetime import date

from bowerbird.providers.x.billing import BY_CALL, PRICES

AS_OF = date(2026, 11, 15)
X_PRICES = {kind: thousandths / 1000 for kind, thousandths in (PRICES | BY_CALL).items()}
"""For each object returned, each once per UTC day; trends and volumes by the request. Failed calls are free."""
