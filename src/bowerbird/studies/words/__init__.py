"""Studies of words: made, looked through in the background, and labelled."""
