"""Analyses saved in the store: audits, word studies, and the statistics of the dashboard."""
