"""The settings window; every page is a module that registers itself."""
