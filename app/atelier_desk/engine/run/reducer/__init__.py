"""What is pure: the state of a run, what an event makes of it, and what comes next."""
