"""The transcript: its data and its display."""
