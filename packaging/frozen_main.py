"""Entry point of the frozen program. It starts its child processes as ``atelier -m module``, because it comes
without a Python.
"""

import runpy
import sys

from atelier_desk.__main__ import main


def entry() -> int:
    """Run a module of Atelier when started with ``-m``, like Python, otherwise the program."""
    arguments = [argument for argument in sys.argv[1:] if argument != "-P"]
    if len(arguments) >= 2 and arguments[0] == "-m" and arguments[1].startswith("atelier_desk."):
        sys.argv = [arguments[1], *arguments[2:]]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    return main()


if __name__ == "__main__":
    sys.exit(entry())
