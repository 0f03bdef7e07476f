"""A finished run shown again, event by event."""
