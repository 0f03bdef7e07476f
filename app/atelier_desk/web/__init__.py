"""The web as agents reach it: addresses that are checked, pages as Markdown, searches."""
