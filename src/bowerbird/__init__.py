"""bowerbird: a crawler for microblogs that plans, remembers and survives."""

__version__ = "0.1.0"
