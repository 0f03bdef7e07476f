"""Servers of the Model Context Protocol: starting and calling them, reading their answers.

The SDK takes two seconds to load: nothing here imports it before a server is connected to, and then in a
thread.
"""
