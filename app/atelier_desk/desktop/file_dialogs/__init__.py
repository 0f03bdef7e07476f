"""Dialogs for files: where they start, their translation, exporting to a file."""
