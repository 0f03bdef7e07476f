"""The settings window; every page is a file of its own that registers itself."""
