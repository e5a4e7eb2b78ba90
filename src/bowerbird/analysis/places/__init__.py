"""Places of accounts and posts, worked out offline.

`open_resolver(folder)` opens the index of places; `Resolver` finds places in text; `PlaceClassifier` labels accounts and posts
with the areas of a crawl.
"""
