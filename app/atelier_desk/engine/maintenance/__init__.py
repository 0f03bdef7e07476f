"""Diagnostics and daily background work."""
