"""What people write in, worked out offline: languages of posts and people, and the varieties of Portuguese.

`Reader().read(posts)` says in which language somebody writes (or several, or undecided) and, of Portuguese, in which variety,
with the hints that decided. `echo` is TwitterEcho's own method, for comparison.
"""
