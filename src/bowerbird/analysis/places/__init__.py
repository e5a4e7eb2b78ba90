"""Where people and posts are, worked out offline: an index of places, a reader of what people write, and a judge over areas.

`open_gazetteer(folder)` opens the index (built once per version), `Resolver(gazetteer)` turns text into candidates with a
confidence, `AreaLocator(areas, resolver)` says which areas an account or a post belongs to.
"""
