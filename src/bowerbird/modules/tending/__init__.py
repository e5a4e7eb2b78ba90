"""Modules that look after what is stored, and tell what befalls a crawl."""
