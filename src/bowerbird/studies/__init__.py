"""Analyses that are kept in the store: audits, word studies, and the statistics of the dashboard."""
