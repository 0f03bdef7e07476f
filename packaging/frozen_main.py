"""Entry of the frozen program. A child of the program is started as ``atelier -m module`` there, since no Python stands
beside it.
"""

import runpy
import sys

from atelier_desk.__main__ import main


def entry() -> int:
    """Run a module of Atelier when asked for like Python itself would, else the program."""
    arguments = [argument for argument in sys.argv[1:] if argument != "-P"]
    if len(arguments) >= 2 and arguments[0] == "-m" and arguments[1].startswith("atelier_desk."):
        sys.argv = [arguments[1], *arguments[2:]]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    return main()


if __name__ == "__main__":
    sys.exit(entry())
