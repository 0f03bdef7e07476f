"""Crash tests: the process is really killed, and nothing it acknowledged may be lost. Run by ``make chaos``."""
