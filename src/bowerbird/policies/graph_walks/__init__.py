"""Policies that walk from account to account."""
