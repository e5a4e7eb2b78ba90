"""The files of a store: found, copied, rewritten, readable by their owner alone."""
