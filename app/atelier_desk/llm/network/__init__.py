"""Network requests: addresses, connections, retries, event streams."""
