"""Markdown as agents write it: one parser for what the window shows and what is exported."""
