"""Rate limits, dollar budgets and the credential vault."""
