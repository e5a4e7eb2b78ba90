"""Who belongs to a community: signs of profiles, posts and relations, and the probability they give.

`profiles.py`, `writing.py`, `words.py` and `relations.py` read signs, `membership.py` combines them,
`classifier.py` labels accounts page by page, and `review.py` looks again at accounts that are undecided.
"""
