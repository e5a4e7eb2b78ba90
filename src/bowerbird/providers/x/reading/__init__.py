"""The X API's answers, read."""
