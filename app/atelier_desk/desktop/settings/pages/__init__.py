"""One settings page a file; each registers itself."""
