"""100 000 random command lines through parser and judge: no exception, and an allowed line means the same when
parsed again.

Run by hand: ``python -m tests.fuzz.fuzz_command_lines [COUNT]``. The suite runs a sample
(``tests/workspace/commands/test_judge.py``).
"""

from __future__ import annotations

import sys
import time

from tests.workspace.commands.random_command_lines import check_line, random_lines

COUNT = 100_000
MOST_S = 300.0


def main(count: int) -> int:
    began, allowed, done = time.monotonic(), 0, 0
    for line in random_lines(count, seed=20_261):
        allowed += check_line(line)
        done += 1
        if time.monotonic() - began > MOST_S:
            break
    seconds = time.monotonic() - began
    print(f"{done} lines, {allowed} allowed, no exception, {seconds:.1f} s, {seconds / done * 1000:.3f} ms a line")
    return 0 if done == count else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT))
