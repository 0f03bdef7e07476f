"""The grammar of ``atelier chat``."""

from __future__ import annotations

from atelier_desk.cli.command_arguments.shared_options import add_agent_options, add_attach_option, add_workflow_options
from atelier_desk.cli.parser import AddCommands


def register(add: AddCommands) -> None:
    parser = add.command("chat")
    add_workflow_options(parser)
    add_attach_option(parser, piped=False)
    add_agent_options(parser)
