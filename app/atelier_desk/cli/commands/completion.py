"""``atelier completion``: scripts that let a shell complete this command line."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli import completion_scripts
from atelier_desk.cli.parser import build_parser
from atelier_desk.cli.terminal_io import Output


async def completion(atelier: None, arguments: Namespace, out: Output) -> int:
    out.write(getattr(completion_scripts, arguments.shell)(completion_scripts.words_of(build_parser())))
    return 0
