"""Child processes that answer requests: starting, calling, limiting and ending them.

Uses only the standard library. A module that runs in its own process ends with ``child.serve(answer, …)``.
``parent.Worker`` starts it for any number of requests; ``parent.ask_once`` starts it for one,
``parent.ask_in_thread`` does so from a thread. Three errors exist (``errors``): it cannot start, it ended, it
failed. Requests and answers are frames over two pipes (``frames``); nothing is unpickled, and a process
inherits no other handles.
"""
