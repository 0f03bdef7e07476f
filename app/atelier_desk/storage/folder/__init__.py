"""The data folder: its lock, its files, and what must hold before it is opened."""
