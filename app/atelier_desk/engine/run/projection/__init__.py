"""The rows and stream events that come of a run's events."""
