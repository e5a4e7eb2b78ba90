"""References to words over time: one look through the stored posts, what it found, and what people say of a sample of it."""
