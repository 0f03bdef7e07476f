"""The data folder: its lock, its files, and the checks before it is opened."""
