"""The lines of the completeness report, one file for each view of it."""
