"""Projects: what is kept of a file, and the search and the graph over it, in process."""
