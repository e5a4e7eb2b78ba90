"""Posts with what hangs on them, what they refer to, and who listed them."""
