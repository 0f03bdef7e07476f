"""Rows and stream events derived from a run's events."""
