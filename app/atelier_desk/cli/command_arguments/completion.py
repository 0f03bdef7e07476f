"""The grammar of ``atelier completion``."""

from __future__ import annotations

import argparse

from atelier_desk.cli.parser import AddCommands

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """\
  bash: source <(atelier completion bash)
  zsh:  source <(atelier completion zsh)
  fish: atelier completion fish | source"""


def register(add: AddCommands) -> None:
    parser = add.command(
        "completion",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(offline=True)
