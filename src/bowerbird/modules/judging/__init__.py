"""Modules that judge what is stored, or bring what judges go by."""
