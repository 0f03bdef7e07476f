"""Command lines: read, judged and run."""
