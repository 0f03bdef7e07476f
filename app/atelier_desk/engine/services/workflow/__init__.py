"""One workflow: transcript and file."""
