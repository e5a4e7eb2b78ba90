"""Audits: recent posts of random members are asked for again, through the limits and credentials of their crawl, and held
against the store. Nothing of what is seen is saved."""
