"""``atelier completion``: what a shell needs to complete this command line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.parser import Adder
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """\
  bash: source <(atelier completion bash)
  zsh:  source <(atelier completion zsh)
  fish: atelier completion fish | source"""


def register(add: Adder) -> None:
    parser = add.command(
        "completion",
        _("print a shell completion script"),
        "completion:completion",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(offline=True)


async def completion(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli import completion as scripts
    from atelier_desk.cli.parser import build_parser

    out.write(getattr(scripts, arguments.shell)(scripts.words_of(build_parser())))
    return 0
