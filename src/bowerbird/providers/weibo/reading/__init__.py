"""Weibo's answers, read."""
