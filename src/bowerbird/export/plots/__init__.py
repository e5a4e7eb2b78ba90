"""Figures that can go into a paper: drawn with matplotlib from the numbers of `reports/figures/`, as SVG or PNG."""
