"""Sharing a data folder: one process holds its database; other processes of the same user reach it through a local
socket.

The holder executes command lines for the others and sends their output back, and raises its window when asked.
"""
