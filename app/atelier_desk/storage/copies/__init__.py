"""Copies of a data folder: backups, restores, exports, and looking into one."""
