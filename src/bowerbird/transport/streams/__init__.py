"""Connections that stay open."""
