"""Studies of words: read the stored posts, and report results and labels."""
