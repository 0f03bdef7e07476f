"""Replay of a run, event by event."""
