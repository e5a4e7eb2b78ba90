"""What is to be said of a store as a dataset: what was asked, how, what came of it, what is missing, what was deleted."""
