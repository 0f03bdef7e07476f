"""Which model answers for an agent."""
