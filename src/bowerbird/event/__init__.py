"""Adaptive collection of an event: keywords that come and go by what posts say, on streams and searches alike.

`sieves.py` chooses and counts what pages bring; at the end of each frame of the `grid.py` one worker reads what was counted
(`counting.py`), asks the methods and writes what they decide (`deciding.py`), and has streams and searches follow it
(`steering.py`, `probing.py`). `part.py` is the loop around that. All state is in the database (`rows.py`, `beginning.py`); memory
holds a copy of the keywords (`following.py`).
"""
