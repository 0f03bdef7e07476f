"""Section ``context_ops``: where an agent works."""

SECTION = "context_ops"
