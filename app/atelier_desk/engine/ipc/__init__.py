"""One process holds a data folder's database; every other process of the same user reaches it through a local socket.

The holder executes command lines for the others and sends their output back, and raises its window when asked.
"""
