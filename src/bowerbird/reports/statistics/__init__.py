"""Statistics as they were prepared in the background (modules/statistics): read in a moment, whatever the size of the store.

Each says as of when it is. Names are looked up when they are shown, in what is stored then: of nobody who is gone.
"""
