"""The worker without a database: its way to the coordinator, and its work."""
