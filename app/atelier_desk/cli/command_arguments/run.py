"""The grammar of ``atelier run``."""

from __future__ import annotations

from atelier_desk.cli.command_arguments.shared_options import (
    add_agent_options,
    add_attach_option,
    add_schema_option,
    add_workflow_options,
)
from atelier_desk.cli.parser import AddCommands, flag
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    ends = _(
        "Exit status: 0 completed, 1 failed, 2 usage error, 3 abandoned by the agent, 4 limit reached, 5 waiting "
        "for an answer or an approval, 130 cancelled. The exit status is also 0 if the last reply was cut off, "
        "filtered or empty. This is reported on standard error and, in the events “message” and "
        "“workflow_complete”, as finish_reason (length, content_filter, empty)."
    )
    form = _(
        "With --schema, the workflow_complete event of --json contains the parsed object in its “answer” "
        "field. If the reply still does not match after a second try, it is kept unchanged and the field "
        "is missing; standard error or the “misfit” event says why."
    )
    parser = add.command("run", epilog=f"{ends} {form}")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "prompt",
        metavar="PROMPT",
        nargs="?",
        help=_("the prompt, or - to read it from standard input; with a prompt, standard input is attached"),
    )
    what.add_argument(
        "--prompt",
        metavar="NAME",
        dest="own_prompt",
        help=_("one of your own prompts instead of PROMPT; see: atelier prompts list"),
    )
    parser.add_argument(
        "--set",
        metavar="VARIABLE=VALUE",
        action="append",
        default=[],
        dest="values",
        help=_("fill in a variable of --prompt (repeatable)"),
    )
    add_workflow_options(parser)
    add_attach_option(parser)
    parser.add_argument(
        "--quiet", "-q", action="store_true", help=_("print only the answer; problems go to standard error")
    )
    add_schema_option(parser)
    flag(parser, "--step", _("step by step: Enter runs the next step; without a terminal, only one step runs"))
    add_agent_options(parser)
