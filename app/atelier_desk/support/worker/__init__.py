"""Child processes that answer: how they are started, spoken to, bounded and ended. The standard library alone.

A module that is to run in a process of its own ends with ``child.serve(answer, …)``. ``parent.Worker`` starts it and asks it any number of
times; ``parent.ask_once`` asks once and ends it, ``parent.ask_in_thread`` does so from a thread. Three things can go wrong, told apart in
``errors``: it cannot start, it was ended, it failed. Requests, answers and their bytes are frames over two pipes (``frames``); nothing is
unpickled, and no process has a handle that it was not given.
"""
