"""The transcript: what it holds, and how it is shown."""
