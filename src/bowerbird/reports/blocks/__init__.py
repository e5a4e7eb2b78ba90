"""Stored rows by columns, thousands at a time: what exports, queries and the Python API read. Nothing deleted is among them."""
