"""What is worked out about a store and kept in it: audits, studies of words, and the statistics that a dashboard shows."""
