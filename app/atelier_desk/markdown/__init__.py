"""Markdown of agents: one parser for window and exports."""
