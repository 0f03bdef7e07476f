"""Servers from other programs: their files, one-click links, ``server.json``, bundles.

Nothing read here is started or stored: it becomes a preview that shows command, environment and secrets.
"""
