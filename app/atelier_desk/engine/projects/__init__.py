"""Indexing projects: scanning, parsing processes, writing and relating results, and watching for changes."""
