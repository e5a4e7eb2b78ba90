"""The work source over HTTP: a coordinator has the database and hands out calls, its workers have none and make them.

`wire.py` is what passes between them; `coordinator.py`, `desk.py` and `routes.py` are one side, `link.py`, `client.py` and
`working.py` the other.
"""
