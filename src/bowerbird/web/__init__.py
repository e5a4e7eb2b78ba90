"""The dashboard: a crawl seen, steered and trusted. `dashboard.py` lists its parts, `site.py` is what pages are given."""
