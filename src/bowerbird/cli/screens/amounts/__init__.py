"""Amounts in the same words on every screen."""
