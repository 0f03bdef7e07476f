"""Workspace files: read, search, change. The section is declared in ``sections``."""
