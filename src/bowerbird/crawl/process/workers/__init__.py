"""Which workers there are: who this process is, who else runs, and what each has claimed."""
