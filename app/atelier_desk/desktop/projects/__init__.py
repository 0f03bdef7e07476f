"""The projects window: list, search, graph and sources."""
