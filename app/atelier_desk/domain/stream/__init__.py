"""What the engine tells while it works."""
