"""Benchmarks: each prints ratios against a named reference measured in the same run; the last line is one JSON object."""
