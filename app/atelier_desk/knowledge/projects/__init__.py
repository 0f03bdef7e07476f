"""Projects: the stored part of each file, and the in-process search and graph over it."""
