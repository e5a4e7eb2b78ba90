"""The index of places: what is in it, how it is made, how it is asked."""
