"""Work in progress: calls as they end, how long they take, what went wrong, who works, what each facet brings, what waits."""
