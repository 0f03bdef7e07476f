"""One workflow: its transcript and its file."""
