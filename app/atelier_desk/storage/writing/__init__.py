"""Commits: one queue, one transaction each."""
