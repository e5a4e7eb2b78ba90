"""Work as values: tasks, calls, limits, streams, and who may do what until when."""
