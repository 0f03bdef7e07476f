"""Requests over the network: addresses, connections, retries, streams of events."""
