"""Statistics that pages show, prepared in the background: counted once as posts come, in small pieces, by one process at a time.

`tally.py` says what one post counts for, `posts.py` and `users.py` read them, `parts.py` keeps what was counted, `publishing.py`
makes from it what is shown, `preparing.py` does all of it in order.
"""
