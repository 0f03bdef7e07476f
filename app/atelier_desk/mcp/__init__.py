"""Servers of the Model Context Protocol: starting them, talking to them over the official SDK, and what they give.

The SDK takes two seconds to load: nothing here imports it before a server is connected to, and then in a thread.
"""
