"""Policies that ask those first of whom most is to be expected."""
