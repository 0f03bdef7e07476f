"""MemoryTool and the search behind it."""
