"""Evaluate the identification of languages and of the varieties of Portuguese on recorded posts."""
