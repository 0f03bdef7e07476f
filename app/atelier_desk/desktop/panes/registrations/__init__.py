"""The panes of the window, one file each; see ``panes/registry.py``."""
