"""Model requests for display."""
