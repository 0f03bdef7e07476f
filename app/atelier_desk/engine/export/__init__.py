"""Export texts as files: HTML and Word."""
