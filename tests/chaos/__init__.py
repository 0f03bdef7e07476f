"""Kills: the process is really killed, and nothing that was acknowledged may be gone. Run by ``make chaos``."""
