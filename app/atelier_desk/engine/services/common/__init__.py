"""Shared parts of the services."""
