"""A synthetic microblog with ground truth that speaks the real dialects, limits and faults included."""
