"""Copies of a data folder: backups, restores, exports, and their inspection."""
