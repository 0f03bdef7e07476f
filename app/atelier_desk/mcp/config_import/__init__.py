"""Servers as other programs write them down: their files, one-click links, the registry's ``server.json`` and ``.mcpb`` bundles.

Nothing that is read here is started or stored: it becomes a preview, in which a person sees command, environment and secrets.
"""
