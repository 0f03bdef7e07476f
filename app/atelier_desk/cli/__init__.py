"""Headless commands over the engine's services."""
