"""Undo data of workspace changes, and undoing them."""
