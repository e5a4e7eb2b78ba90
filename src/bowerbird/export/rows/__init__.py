"""Flat rows of posts, users and follows, and the plain files they are written to."""
