"""What was written goes out as files that others open: HTML and Word."""
