"""The doors of a simulated service: in process, over HTTP, its pictures and its truth."""
