"""Streams on their way out of a simulated service: faults, real sockets, in process, and the truth behind them."""
