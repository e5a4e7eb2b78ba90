"""The numbers behind figures: volumes, rhythms, growth, distributions, delays, silence, words. Each is one reading of the store.

Posts count at the time at which they were written, or, where the network doubts that time, at which they were listed. Posts of
which only id and time are kept count too: that something was said is no content.
"""
