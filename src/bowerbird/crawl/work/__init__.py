"""Who is asked next: lanes, scheduler, leases and their settlement, the log of calls."""
