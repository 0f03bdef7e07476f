"""Section ``context_ops``: where an agent works."""
