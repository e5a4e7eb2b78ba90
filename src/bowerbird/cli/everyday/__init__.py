"""One-line commands (`timeline`, `search`, `hydrate`, …): small flows of the same engine, with a store of their own and rows out.

`asking.py` says what each command asks; `where.py` whom, `inputs.py` about what; `plans.py` makes the crawl's plan of it;
`running.py` runs it, and `emitting.py` writes what it finds.
"""
