"""Replaces itself with a browser controlled over two pipes.

Run as ``python -P -m atelier_desk.web.browser.launcher READ WRITE PROGRAM ARGUMENT…``. Chromium with
``--remote-debugging-pipe`` reads commands from descriptor 3 and answers on 4; only its starter has the other
ends.
"""

from __future__ import annotations

import fcntl
import os
import sys


def main() -> None:
    reads, writes = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3])
    os.dup2(reads, 3)
    os.dup2(writes, 4)
    os.closerange(5, 256)
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
